"""The four wordy subjects: story, recipe, weather, clinic. Each takes a Draw and returns (user, assistant, details).

State drawn early in a document (a name, an ingredient, a temperature) is used again later. A slot that some documents
never print is a function, drawn at its first use.
"""

SHE = ["Mira", "Anna", "Zoë", "Renée", "Ines", "Clara", "Nora", "Tilda", "Ruth", "Hanna", "Lucía", "Edith"]
HE = ["Tom", "Bruno", "André", "Søren", "Karim", "Oskar", "Felix", "Hugo", "José", "Peter", "Milo", "Jonas"]


def person(d):
    woman = d.pick((True, False))
    name = d.pick(SHE if woman else HE)
    if woman:
        return {"H": name, "he": "she", "He": "She", "his": "her", "His": "Her", "him": "her"}
    return {"H": name, "he": "he", "He": "He", "his": "his", "His": "His", "him": "him"}


def with_article(noun):
    return ("an " if noun[0] in "aeiou" else "a ") + noun


# ---------------------------------------------------------------- story
THINGS = ["lantern", "kite", "silver key", "compass", "drum", "red umbrella", "music box", "paper boat", "clay jug", "brass bell",
          "telescope", "wooden spoon", "blue scarf", "old map", "mirror", "pocket watch", "ladder", "teapot"]
KINDS = ["fox", "heron", "goat", "hedgehog", "badger", "crow", "donkey", "otter", "cat", "goose", "hare", "tortoise"]
PETS = ["Pip", "Bramble", "Moss", "Juniper", "Olive", "Button", "Thistle", "Pepper", "Biscuit", "Willow", "Rusty", "Domino"]
PLACES = ["the harbour", "the old mill", "the river bend", "the lighthouse", "the orchard", "the market square", "the stone bridge",
          "the pine forest", "the railway station", "the windy hill", "the village school", "the salt marsh"]
GIFTS = ["a jar of honey", "a loaf of warm bread", "a bag of walnuts", "a basket of plums", "a ball of green wool", "a round of cheese",
         "a candle", "a bunch of mint", "a pot of jam", "a feather"]


def story(d):
    s = person(d)
    thing, kind = d.pick(THINGS), d.pick(KINDS)
    s.update(O=thing, aO=with_article(thing), K=kind, aK=with_article(kind), F=d.pick(PETS), P=d.pick(PLACES), G=d.pick(GIFTS))
    s["g"] = s["G"].split(" ", 1)[1]
    user = d.say(["{Tell me|Write|I would like} a {|short |little }story about $H and $aO.",
                  "{Can|Could} you {tell|write} a {bedtime |short |}story {with|about} $H and $aO?",
                  "A story{|, please}: $H finds $aO."], s)
    out = [d.say([
        "$H lived {near|close to|just behind} $P, {where|and there} the {mornings|evenings} were {quiet|cold|golden|full of fog} and nobody {hurried|asked many questions}.",
        "{One|On a} {grey|bright|windy|rainy|frosty} {morning|evening|afternoon}, $H {walked|ran|wandered} {down |out |}to $P with {nothing to do|empty pockets|a head full of plans}.",
        "Every {spring|summer|autumn|winter}, $H {spent a week|worked|helped out} at $P, and every time {it rained|something odd happened|$he came home late}.",
        "Nobody at $P {remembered|could say} when $H had {arrived|first come}, but {everyone|the whole village} {liked|trusted} $him."], s)]
    out.append(d.say([
        "{There, |That day, |Just then, |One day, }{under a bench|behind a barrel|in the tall grass|beside the path}{,|} $he found $aO, {dusty but whole|wrapped in cloth|still a little warm|older than anyone could guess}.",
        "$His {grandmother|uncle|neighbour|teacher} had left $him $aO, and $he {carried|took} it {everywhere|wherever $he went}.",
        "{What $he wanted most|All $he had ever wanted} was $aO, and {that day|at last} {a sailor|a pedlar|an old woman|a child} {gave|sold} $him one for {two coins|a song|a promise}."], s))
    out.append(d.say([
        "{Then|Before long|Soon} $aK {called|named} $F {came by|sat down beside $him|stepped out of the shade} and {asked|said}, \"{Is that $O yours|What will you do with that $O|May I look at that $O}?\"",
        "{The only one who noticed|The first to see it} was $F, $aK {with a torn ear|with clever eyes|who never slept|who knew every road}.",
        "$H {showed|held up} the $O to $F, the $K who {lived|slept} {nearby|at $P}, and the $K {nodded|laughed|was silent} for a {long|short} while."], s))
    out.append(d.say([
        "{That night|The next day|An hour later} {a storm|a flood|a thick fog|a great noise} {came over|rolled across} $P, and {the way home was lost|all the lights went out|the people were afraid}.",
        "{But|Then} {a boat|a small child|the baker's cart|a flock of sheep} was {missing|stuck|lost} {beyond|somewhere near} $P, and {it was getting dark|no one knew what to do|time was short}.",
        "{But|Sadly,} the $O {would not work|slipped from $his hands|began to hum} {at the worst moment|just then}, and $F {sighed|grew worried|said nothing}."], s))
    out.append(d.say([
        "\"{Trust me|Wait|Listen|Follow me},\" said $F the $K. {So $H|$H} {lifted|raised|held} the $O {high|with both hands|against the wind}, and {step by step|slowly|little by little} {things grew calm|they found the way|all was well again}.",
        "$H {thought for a moment|took a deep breath|did not give up}. With the $O in one hand and {courage|$F|a rope} {beside $him|in the other}, $he {went straight ahead|crossed the dark water|climbed to the top}.",
        "{Together|Side by side}, $H and the $K {mended|cleaned|turned} the $O {until it shone|until it sang|once, twice, three times}, and {the trouble passed|the trouble was over}."], s))
    out.append(d.say([
        "{To say thank you|As thanks|In return}, the {people|children|fishermen} {gave|brought} them $G, and $H {shared|split} the $g with $F{| at once| before sunset}.",
        "{On the way home|Afterwards} they {ate|traded|admired} $G that $F had {saved|hidden|carried} {all along|for such a day}."], s))
    out.append(d.say([
        "{To this day|Even now}, the $O {hangs|stands|rests} {by the door|on the shelf|over the fire}, and {$F the $K|the $K} {visits|comes by} {every Sunday|when the moon is full|whenever it rains}.",
        "{And so|That is how} $H {learned|found out} that {a friend|patience|a little light|kindness} {is worth more than|weighs more than} {gold|any $O|a full purse}.",
        "$H never {lost|sold|forgot} the $O, and {when people asked|if you ask}, $he {only smiled|says it was $F who did it all|tells the story again}."], s))
    return user, " ".join(out), [s["H"], thing]


# ---------------------------------------------------------------- recipe
MAINS = [("leek", "leeks"), ("carrot", "carrots"), ("pumpkin", "pumpkin"), ("potato", "potatoes"), ("mushroom", "mushrooms"), ("spinach", "spinach"),
         ("tomato", "tomatoes"), ("bean", "beans"), ("lentil", "lentils"), ("cauliflower", "cauliflower"), ("beetroot", "beetroot"), ("onion", "onions")]
EXTRAS = ["almonds", "walnuts", "feta", "Gruyère", "bacon", "chestnuts", "apples", "crème fraîche", "olives", "raisins", "smoked trout", "barley"]
SPICES = ["thyme", "paprika", "cumin", "nutmeg", "dill", "rosemary", "ginger", "mustard", "sage", "parsley"]
FATS = ["butter", "olive oil", "rapeseed oil", "ghee"]
FORMS = ["soup", "stew", "gratin", "tart", "salad", "curry", "purée", "pie"]


def recipe(d):
    form = d.pick(FORMS)
    adjective, noun = d.pick(MAINS)
    s = {"form": form, "main": adjective, "M": noun, "it": "them" if noun.endswith("s") else "it", "X": d.pick(EXTRAS), "S": d.pick(SPICES), "fat": d.pick(FATS), "n": lambda: d.number(2, 6),
         "qm": d.number(200, 800, 100), "qx": d.number(50, 150, 25), "t": d.number(10, 45, 5), "T": lambda: d.number(160, 220, 10), "w": d.number(2, 9)}
    s["dish"] = adjective + " " + form
    user = d.say(["How do I {make|cook} {a |}$dish with $X{| for $n}?", "{I have|There are} $M and $X {at home|in the kitchen}. {Could it be|Can I make} a $form?",
                  "{Give me|I need} a recipe for $dish with $X{|, please}."], s)
    out = [d.say("{Here is|This is} a {simple|quick|hearty|light|slow} $dish with $X{, enough for $n| for $n people|. It serves $n}.", s) + "\n" +
           d.say("{You need|Ingredients}:", s)]
    lines = [d.say("- $qm g $M", s), d.say("- $qx g $X", s), d.say("- $w {spoons|tablespoons} of $fat", s), d.say("- {a pinch of|a little|a teaspoon of} $S", s)]
    out.extend(lines)
    steps = [d.say(["{Wash|Rinse|Peel} the $M and {cut|chop} $it {small|into cubes|into thin slices}.", "{Slice|Dice|Chop} the $M {finely|roughly|while the pan warms}."], s),
             d.say(["{Warm|Heat|Melt} the $fat in a {wide|heavy|deep} pan and add the $S{| with some salt}.", "{Stir|Mix} the $S into the warm $fat {for a minute|until it smells good}."], s)]
    if form in ("gratin", "tart", "pie"):
        steps.append(d.say("{Put|Layer|Spread} the $M in a {dish|tin}, {scatter|sprinkle} the $X on top and bake at $T °C for $t minutes{|, until golden}.", s))
        steps.append(d.say(["Let the $form {stand|rest|cool} for $w minutes{| before cutting}.", "If the top browns too fast, {cover it|turn the oven down} after {half the time|the first minutes}."], s))
    elif form == "salad":
        steps.append(d.say("{Cook|Steam|Roast} the $M for $t minutes, then {let $it cool|set $it aside}.", s))
        steps.append(d.say("{Toss|Mix} the $M with the $X and {the warm $fat|the rest of the $fat}{|, and taste for salt}.", s))
    else:
        steps.append(d.say("Add the $M, {cover with water|pour in some stock} and {simmer|cook gently} for $t minutes{|, stirring now and then}.", s))
        steps.append(d.say(["{Stir in|Add} the $X {at the end|for the last $w minutes}{| and taste for salt}.", "{Crush|Blend} half of the $M, then {stir in|add} the $X."], s))
    out.extend("%d. %s" % (i + 1, step) for i, step in enumerate(steps))
    out.append(d.say(["Serve {warm|at once|with bread}{|, with a little more $S}.", "{The $X can wait|Leftovers keep} {until tomorrow|for two days} {in the fridge|in a cool place}.",
                      "{A guest|Someone} who {dislikes|does not eat} $X {can|may} have the $form {without|with more $S instead}."], s))
    return user, "\n".join(out), [noun if noun in user else adjective, s["X"]]


# ---------------------------------------------------------------- weather
CITIES = ["Bergen", "Lisbon", "Kraków", "Zürich", "Galway", "Málaga", "Oslo", "Vienna", "Tromsø", "Porto", "Ghent", "Turin", "Malmö", "Leipzig", "Cardiff", "Riga"]
DAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
WINDS = ["north", "north-east", "east", "south-east", "south", "south-west", "west", "north-west"]
SKIES = [("rain", "{an umbrella|a raincoat}", "{wet|rainy}"), ("sunshine", "{a hat|sunglasses}", "{bright|sunny}"), ("fog", "{a torch|a bright coat}", "{grey|misty}"),
         ("snow", "{warm boots|thick gloves}", "{white|snowy}"), ("showers", "{an umbrella|a spare jacket}", "{changeable|mixed}"),
         ("thunder", "{a good book|a safe roof}", "{stormy|loud}"), ("drifting clouds", "{a light jacket|a scarf}", "{mild|calm}")]


def weather(d):
    sky = d.pick(SKIES)
    snow = sky[0] == "snow"
    low = d.number(-9, 1) if snow else d.number(2, 18)
    s = {"C": d.pick(CITIES), "D": d.pick(DAYS), "sky": sky[0], "low": low, "rise": d.number(2, 9), "wind": d.pick(WINDS), "v": d.number(5, 60, 5), "p": d.number(10, 90, 10)}
    s["high"] = low + s["rise"]
    s["bring"] = d.say(sky[1], s)
    s["mood"] = d.say(sky[2], s)
    user = d.say(["{What will the weather be|What is the forecast} {in|for} $C on $D?", "{Will it be cold|Do I need a coat|How is the weather} in $C {on|this} $D?",
                  "{Forecast|Weather} for $C, $D{|, please}."], s)
    out = [d.say(["$D in $C {will be|looks} $mood{|, with $sky from {dawn|noon|early morning}}.", "{Expect|Count on} {a $mood $D in $C|a $mood day in $C this $D}.",
                  "$C {wakes|starts} $D {under|with} {low|high|broken|thin} cloud and {ends|closes} it $mood."], s),
           d.say(["The {night|early morning} is {coldest|fresh} at $low °C, {and|but} {by afternoon|after lunch|around three} {it reaches|the air warms to} $high °C.",
                  "Temperatures {climb|rise} from $low °C {at dawn|before sunrise} to $high °C{| in the afternoon}, {a gain|a rise} of $rise degrees."], s),
           d.say(["{A|The} $wind wind {blows|moves} at $v km/h{|, stronger {on the hills|by the water|near the river}}.", "Wind: $wind, {about|near} $v km/h{|, with gusts in the {evening|morning}}."], s),
           d.say(["The chance of $sky is $p percent{|, {mostly|mainly} {before noon|after dark|in the evening}}.", "{There is|We see} a $p percent chance of $sky {in the morning|in the afternoon|towards evening}."], s),
           d.say(["{Take|Bring|Have} $bring{| if you go out}{|, and {start early|plan for delays|enjoy the walk}}.", "{Anyone|Those} {cycling|walking|driving} {in|around} $C {will want|should have} $bring."], s),
           d.say(["In short: $low to $high °C, $wind wind, $sky{ likely| possible|}.", "{So for|To sum up} $D: {$sky|$sky at $p percent}, {a high of|at most} $high °C, {and |}$v km/h from the $wind."], s)]
    if d.pick((0, 1)):
        out.append(d.say("{The day after|Later in the week} {brings|will bring} {more $sky|less $sky|no change} {to|for} $C.", s))
    return user, " ".join(out), [s["C"], s["D"]]


# ---------------------------------------------------------------- clinic
COMPLAINTS = [("a sore throat", "throat", "{red|swollen}", "{warm tea|lozenges|salt-water rinses}"), ("a cough", "chest", "{clear|a little tight}", "{honey syrup|steam|rest}"),
              ("back pain", "back", "{stiff|tender on the left}", "{a heat pad|gentle exercise|physiotherapy}"), ("a headache", "neck", "{stiff|free}", "{water and sleep|paracetamol|less screen time}"),
              ("a rash", "skin", "{dry|red in patches}", "{a mild cream|cotton clothing|zinc ointment}"), ("a twisted ankle", "ankle", "{swollen|bruised}", "{ice|a bandage|a raised foot}"),
              ("stomach pain", "belly", "{soft|tender}", "{plain rice|small meals|peppermint}"), ("an earache", "ear", "{red inside|blocked}", "{ear drops|warmth|paracetamol}"),
              ("dizziness", "balance", "{steady|uncertain}", "{more water|slow rising|a salty broth}"), ("a burnt hand", "hand", "{blistered|pink}", "{cool water|a clean dressing|aloe gel}")]
FAMILY = ["Berg", "Núñez", "Okafor", "Lindqvist", "Moreau", "Hale", "Petrov", "Sato", "Müller", "Costa", "Novak", "Byrne"]
JOBS = ["gardener", "pilot", "teacher", "baker", "nurse", "carpenter", "student", "postman", "cook", "violinist"]


def clinic(d):
    s = person(d)
    c = d.pick(COMPLAINTS)
    tenths = d.number(364, 394)
    s.update(N=d.pick(FAMILY), age=d.number(18, 89), job=d.pick(JOBS), why=c[0], part=c[1], temp="%d.%d" % divmod(tenths, 10), pulse=d.number(58, 98, 2), n=d.number(2, 9),
             up=d.number(3, 14), dr=d.pick(FAMILY), fever=tenths >= 380, title="Ms" if s["he"] == "she" else "Mr")
    s["look"], s["cure"] = d.say(c[2], s), d.say(c[3], s)
    user = d.say(["{Write|Draft} {a|the} {visit|clinic} note for $H $N, {who has|seen for} $why.", "$H $N {came in|is here} {with|because of} $why. {Please write it up|A note, please}.",
                  "{Visit note|Clinic note}: $H $N, $why{|, $age years}."], s)
    out = [d.say(["$title $H $N, $age, a $job, {came|comes} {with|because of} $why {for|that has lasted} $n days.", "{Patient|Seen today}: $H $N, $age years, $job. {Reason|Complaint}: $why for $n days."], s),
           d.say(["{$He|The patient} {sleeps badly|sleeps well|eats little|eats normally} and {has taken nothing|has tried $cure} {so far|at home|since then}.",
                  "It {began|started} {after work|on a journey|during the night|without warning} and is {worse|better} {in the morning|in the evening|when resting}."], s),
           d.say("{On examination|Findings}: temperature $temp °C, pulse $pulse{|, {breathing normal|blood pressure normal}}. The $part is $look.", s)]
    out.append(d.say("{With|At} $temp °C {there is a fever|the patient has a fever}, so {rest at home|time off as a $job} {for $n days |}is {advised|needed}." if s["fever"] else
                     "{With|At} $temp °C there is no fever{|, and {work as a $job|the usual day} {can go on|is allowed}}.", s))
    out.append(d.say(["{Plan|Advice}: $cure, {twice a day|every evening|three times a day}{| for $up days}.", "{We agreed on|I recommend} $cure {and|with} {plenty to drink|a short walk each day|early nights}."], s))
    out.append(d.say(["{Review|Next visit} in $up days with Dr $dr{|, {sooner|earlier} if the $part gets worse}.", "Dr $dr {will see|expects} $title $N again in $up days{| to look at the $part}."], s))
    if d.pick((0, 1)):
        out.append(d.say("{Signed|Noted by}: Dr $dr{|, for the file of $H $N}.", s))
    return user, " ".join(out), [s["H"], s["N"], c[0].split(" ", 1)[1] if c[0].startswith(("a ", "an ")) else c[0]]


