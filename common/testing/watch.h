#pragma once
// Watch: for a program that runs code which may do anything. A crash, or a part that does not come
// to an end, is said in words on the standard output, and ends the program with 1.

#include <string>

namespace octavo::testing {

class Watch {
 public:
  // Each part may take so many seconds of real time, 1 or more. One Watch at a time.
  explicit Watch(int seconds);
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  // What is run from now on, in the words of the message; its time starts.
  void begins(const std::string& part);

 private:
  int seconds_;
};

}  // namespace octavo::testing
