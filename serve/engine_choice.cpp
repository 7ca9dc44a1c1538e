// The options that say where a model runs and with which versions, and what is said of the model.

#include <memory>

#include "serve/commands.h"

namespace octavo::serve {

void print_notes(const LoadedModel& model) {
  for (const std::string& note : model.notes()) fmt::print(stderr, "octavo: note: {}\n", note);
}

void add_engine_choice(CLI::App& app, EngineChoice& choice) {
  app.add_option_function<std::string>(
         "--device",
         [&choice](const std::string& name) {
           const Backend backend = backend_from(name);
           require(is_host(backend),
                   "device is '{}', must be cpu or simt: the layers around the matrices read host "
                   "memory",
                   name);
           choice.device = device_of(backend);
         },
         "cpu, or simt: the GPU kernels of every matrix product, run on the CPU (default: cpu)")
      ->type_name("NAME");
  app.add_option_function<std::string>(
         "--compute",
         [&choice](const std::string& name) {
           require(name == "f32" || name == "bf16", "compute is '{}', must be f32 or bf16", name);
           choice.compute = name == "f32" ? DType::kF32 : DType::kBF16;
         },
         "f32 or bf16: the number type of weights, and on simt of what they meet (default: on the "
         "cpu as stored, on simt f32)")
      ->type_name("TYPE");
  app.add_option("--version", choice.versions,
                 "TOPIC=NAME, matmul=cpu_v2_packed for one: this version instead of the best that "
                 "fits; repeatable")
      ->allow_extra_args(false)
      ->type_name("TOPIC=NAME");
}

}  // namespace octavo::serve
