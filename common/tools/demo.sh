#!/usr/bin/env bash
# The tour that `./run demo` gives: demo.sh PROGRAM. Every command it shows can be typed again as it stands.
# demo.sh PROGRAM experts: the end of `./run demo 02`, the experts of tiny-moe that six subjects wake.
set -euo pipefail
program=$1

bold='' plain=''
if [[ -t 1 && -z ${NO_COLOR:-} ]]; then bold=$'\033[1m' plain=$'\033[0m'; fi
heading() { printf '\n%s%s%s\n' "$bold" "$*" "$plain"; }

columns=96  # of a line, at most

# show VERB ARGS...: prints the command as a user would type it, then runs it.
show() {
  local word option='' line='$ ./run'
  echo
  for word in "$@"; do
    [[ $word =~ ^[a-zA-Z0-9_./-]+$ ]] || word="\"$word\""
    if [[ $word == --chat ]]; then option=$word; continue; fi
    word=${option:+$option }$word option=''  # a message stays on the line of its --chat
    if ((${#line} + ${#word} + 3 > columns)); then
      printf '%s \\\n' "$line"
      line='   '
    fi
    line+=" $word"
  done
  printf '%s\n' "$line"
  if [[ $1 == generate ]]; then "$program" "$@" 2>&1 | fold -s -w "$columns"; else "$program" "$@" 2>&1; fi
}

subjects=(--chat "Tell me a story about Mira and a lantern." --chat "I need a recipe for potato soup."
  --chat "Will it be cold in Bergen on Friday?" --chat "What is 47 + 35? Think of pears."
  --chat "Write the accounts of Ines's theatre for May." --chat "Zoë came in because of a cough. Write it up.")
heat_maps() {  # heat_maps MODEL...
  local model
  for model in "$@"; do show inspect "$model" --heat-map "${subjects[@]}"; done
}

if [[ ${2:-} == experts ]]; then
  printf '\n7. Six subjects, and the experts of a trained model that they wake\n'
  heat_maps tiny-moe
  printf '\nThe same over held-out documents, as a figure: common/checkpoints/experts.svg\n'
  exit
fi

heading "1. Text from a Mixture-of-Experts model with 2.8 million parameters, on this CPU"
show generate --chat "Tell me a story about Mira and a lantern." --seed 2
show generate --chat "Will it be cold in Bergen on Friday?" --seed 3

heading "2. The seed decides the draw; temperature 0 takes the likeliest token every time"
show generate --chat "What is 47 + 35? Think of pears." --temperature 0
show generate --chat "Tell me a story about Mira and a lantern." --seed 3 --temperature 1.2 --max-tokens 40

heading "3. What the model holds, and which of its experts a question wakes: compare the two"
show inspect tiny-moe --chat "Tell me a story about Mira and a lantern." --chat "What is 47 + 35? Think of pears."

heading "4. Six subjects, and the experts they wake in two models: a softmax router, and DeepSeek-V3's gate"
heat_maps tiny-moe tiny-mla

heading "5. The same accounting for models a thousand times larger, from their config alone"
show inspect common/model/configs/mixtral-8x7b.json --memory 160

printf '\nNext: ./run demo 01 counts what a layer costs, and ./run test runs every test.\nREADME.md lists the chapters.\n'
