#include "isa_avx2.h"
#include "table.h"

constinit const completer::Kernels completer::kAvx2 = table<Isa256<false>>("avx2");
