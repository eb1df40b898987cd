# The list of kernels: instruction sets, the flags of each, and the block widths that have kernels of their own there.
# (The pairs of types are listed in backend/kernels.h.)
set(WISP_WIDTHS "1;2;4;8;16;32;64" CACHE STRING "Block widths with kernels of their own, each 1 to 128")

# Other widths are put together from these, which are always there.
set(base_widths 1 2 4 8 16)
set(widths ${base_widths} ${WISP_WIDTHS})
foreach(width ${widths})
  if(NOT width MATCHES "^[1-9][0-9]*$" OR width GREATER 128)
    message(FATAL_ERROR "WISP_WIDTHS: '${width}' is not a block width from 1 to 128")
  endif()
endforeach()
list(REMOVE_DUPLICATES widths)
list(SORT widths COMPARE NATURAL)
string(REPLACE ";" ", " WISP_WIDTH_TEXT "${widths}")

set(isa_list generic)
set(flags_generic "")
set(widths_generic ${base_widths}) # made for any CPU, so for few
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  list(APPEND isa_list avx2 avx512)
  set(flags_avx2 -mavx2 -mfma)
  set(flags_avx512 -mavx512f -mavx512dq -mavx512vl -mavx512bw -mfma -mprefer-vector-width=512)
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
  list(APPEND isa_list neon) # its flags are those of every such CPU
endif()

set(WISP_ISAS "${isa_list}" CACHE STRING "Instruction sets that have kernels, generic among them")
foreach(isa ${WISP_ISAS})
  if(NOT isa IN_LIST isa_list)
    message(FATAL_ERROR "WISP_ISAS: '${isa}' is not an instruction set of this processor (${isa_list})")
  endif()
endforeach()
if(NOT generic IN_LIST WISP_ISAS)
  message(FATAL_ERROR "WISP_ISAS: generic must be one of them")
endif()
set(isa_list ${WISP_ISAS})

# ISA/widths.h: WIDTH_LIST(X), and the template of a width once for each.
foreach(isa generic avx2 avx512 neon) # all of them: .ci/aarch64 compiles for another CPU than this one
  if(NOT DEFINED widths_${isa})
    set(widths_${isa} ${widths})
  endif()
  set(list "")
  set(instances "")
  foreach(width ${widths_${isa}})
    string(APPEND list " X(${width})")
    string(APPEND instances "#define WIDTH ${width}\n#include \"kernel/spmmv.cpu.h\"\n")
  endforeach()
  file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/${isa}/widths.h @ONLY
       CONTENT "/* Written by CMake. */\n#define WIDTH_LIST(X)@list@\n@instances@")
endforeach()
