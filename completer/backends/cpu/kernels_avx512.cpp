#include "isa_avx512.h"
#include "table.h"

constinit const completer::Kernels completer::kAvx512 = table<Isa512>("avx512-vnni");
