#pragma once
// The parts of the chapter's demo. Each prints its tables to the standard output.

namespace octavo::sparse_moe {

// What models store and what a token uses, and the layer of 2017 that began it.
void show_parameters();

// How many experts a batch touches, by the formula and by counting, and the bytes of their weights.
void show_touched_experts();

// Rows that the ways to run a batch compute, when the experts' loads differ.
void show_padding();

// What each GPU version of "experts" asks of memory as the load skews, and the time that allows.
void show_skew();

// The softmax routers in use on one token, and what their gate can learn.
void show_routers();

// Noisy top-k gating on an untrained gate and on a lopsided one.
void show_noise();

}  // namespace octavo::sparse_moe
