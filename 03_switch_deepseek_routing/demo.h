#pragma once
// The parts of the chapter's demo. Each prints its tables to the standard output.

#include <string>

namespace octavo::switch_routing {

void show_overflow();    // 1. what a capacity drops
void show_losses();      // 2. what an uneven load costs
void show_bias();        // 3. scores, and a bias that only selects
void show_models();      // 5. the design axes, and what a training run's hours imply
void show_all_to_all();  // 6. expert parallelism
void show_offloading();  // 7. experts in host memory

// 4. Trains the layer of balancing.h. With a path also writes the runs as JSON.
void show_balancing(const std::string& data_path);

}  // namespace octavo::switch_routing
