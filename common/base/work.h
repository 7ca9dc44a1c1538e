#pragma once
// Work: the least an operation must do. Every operation supplies it; benchmarks and cost models
// divide by it.

namespace octavo {

struct Work {
  double flops = 0;  // floating-point operations; a fused multiply-add counts 2
  double bytes = 0;  // bytes moved to and from memory when each operand is touched once

  // Arithmetic intensity in FLOP a byte; 0 for an empty operation.
  double intensity() const { return bytes > 0 ? flops / bytes : 0; }
  Work& operator+=(const Work& other) {
    flops += other.flops;
    bytes += other.bytes;
    return *this;
  }
  friend Work operator+(Work a, const Work& b) { return a += b; }
};

}  // namespace octavo
