"""The fast CPU target: GGUF's own quantised blocks, repacked, multiplied by kernels of our own in C++."""
