#include "isa_avx2.h"
#include "table.h"

constinit const completer::Kernels completer::kAvxVnni = table<Isa256<true>>("avx-vnni");
