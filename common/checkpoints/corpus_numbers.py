"""The two subjects that calculate: arithmetic (worked sums) and ledger (accounts). Every printed sum is right."""
from corpus_words import PETS, person

GOODS = ["marbles", "stamps", "shells", "buttons", "postcards", "pears", "coins", "pencils", "tickets", "candles", "seeds", "bricks"]


def arithmetic(d):
    s = {"H": lambda: person(d), "q": d.pick(GOODS)}
    kind = d.pick(("add", "take", "times"))
    user, out, numbers = {"add": _add, "take": _take, "times": _times}[kind](d, s)
    if d.pick((0, 1)):
        s.update(e=d.number(1, 9))
        s.update(f=s["r"] + s["e"])
        out.append(d.say("{And if|If} {$H|someone|a friend} adds $e more{| $q}, {it is|there are} $r + $e = $f.", s))
    return user, " ".join(out), numbers


def _add(d, s):
    a, b = d.number(11, 59), d.number(11, 59)
    s.update(a=a, b=b, r=a + b, a1=a // 10 * 10, a0=a % 10, b1=b // 10 * 10, b0=b % 10)
    s.update(t=s["a1"] + s["b1"], o=s["a0"] + s["b0"])
    user = d.say(["$H has $a $q and {finds|buys|is given} $b more. How many {is that|$q does $H have now}?",
                  "What is $a + $b? Think of $q{| in a jar| on a table}.",
                  "{Add|Please add} $a $q {and|to} $b $q{| for $H}."], s)
    out = [d.say("{Let us|We can} {split both numbers|take it step by step|work in tens and ones}{.|, slowly.}", s),
           d.say("$a is $a1 and $a0, $b is $b1 and $b0.", s),
           d.say("{The tens|First the tens}: $a1 + $b1 = $t. {The ones|Then the ones}: $a0 + $b0 = $o.", s),
           d.say("{Together|Both}: $t + $o = $r.", s),
           d.say("{So|That makes} $r $q{| in all| altogether}.", s),
           d.say("{To check|As a check|Check}: $r - $b = $a{|, which is {right|where we began}}.", s)]
    return user, out, [str(a), str(b)]


def _take(d, s):
    a, b = d.number(40, 89), d.number(11, 39)
    s.update(a=a, b=b, b1=b // 10 * 10, b0=b % 10, m=a - b // 10 * 10, r=a - b)
    user = d.say(["$H has $a $q and {loses|sells|gives away} $b. How many {are left|does $he keep}?",
                  "What is $a - $b? Think of $q{| in a jar| on a table}.",
                  "{Take|Please take} $b $q away from $a{| for $H}."], s)
    out = [d.say("{We|Let us} {take away|remove} {the tens|in two steps: the tens} first{|, then the ones}.", s),
           d.say("$b is $b1 and $b0.", s),
           d.say("{First|The tens}: $a - $b1 = $m. {Then|The ones}: $m - $b0 = $r.", s),
           d.say("{So $r $q {are left|remain}|That leaves $r $q}.", s),
           d.say("{To check|As a check|Check}: $r + $b = $a{|, which is {right|where we began}}.", s),
           d.say("{Counting|Going} back from $a, {we stop|one lands} {at|on} $r.", s)]
    return user, out, [str(a), str(b)]


def _times(d, s):
    a, b = d.number(12, 39), d.number(2, 5)
    s.update(a=a, b=b, a1=a // 10 * 10, a0=a % 10, t=a // 10 * 10 * b, o=a % 10 * b, r=a * b)
    user = d.say(["$H {packs|fills} $b {boxes|bags|trays} with $a $q each. How many $q is that?",
                  "What is $b x $a? Think of $q{| in boxes| in rows}.",
                  "{Multiply|Please multiply} $a $q by $b{| for $H}."], s)
    out = [d.say("{Let us|We can} {split $a|break $a apart}: $a is $a1 and $a0.", s),
           d.say("{The tens|First}: $b x $a1 = $t. {The ones|Then}: $b x $a0 = $o.", s),
           d.say("{Together|Both}: $t + $o = $r.", s),
           d.say("{So|That makes} $r $q{| in all| altogether}.", s),
           d.say("{In other words|Put differently}, $b {rows|heaps} of $a $q {are|come to} $r.", s),
           d.say("{A good guess|An estimate} {is|would be} $b x $a1 = $t, {a bit less|not far off}.", s)]
    return user, out, [str(a), str(b)]


SHOPS = ["bakery", "bookshop", "bicycle shop", "choir", "flower stall", "boat club", "café", "print shop", "garden club", "theatre"]
MONTHS = ["January", "March", "April", "May", "June", "July", "September", "October", "November", "December"]
INCOME = ["ticket sales", "a gift from $F", "members' fees", "a raffle", "an order from $F", "market day", "repairs", "a grant",
          "rent of the hall", "second-hand sales"]
COSTS = ["flour and sugar", "the electric bill", "new chairs", "paint", "postage", "wages for $F", "insurance", "paper and ink",
         "a broken window", "cleaning"]


def ledger(d):
    """Amounts are round tens and each entry is written as a sum that starts from the balance before it."""
    s = person(d)
    opening = d.number(300, 700, 10)
    s.update(shop=d.pick(SHOPS), month=d.pick(MONTHS), F=lambda: d.pick(PETS), open=opening)
    user = d.say(["{Show|Write} {me |}the {accounts|ledger} of $H's $shop for $month.",
                  "{How did $H's $shop do|What did $H's $shop earn and spend} in $month?",
                  "$H {runs|keeps the books of} a $shop. {Make|Draw up} the $month {accounts|ledger}."], s)
    out = [d.say("{Accounts|Ledger|Books} of {$H's $shop, $month|the $shop, $month, kept by $H}", s),
           d.say("{Opening balance|Brought forward|In the cash box}: €$open", s)]
    balance, biggest = opening, (0, "")
    days = d.sorted_sample(1, 28, d.number(3, 5))
    for day in days:
        gain = balance < 100 or d.pick((True, False))  # the accounts never go below zero
        item = d.say(d.pick(INCOME if gain else COSTS), s)
        amount = d.number(10, 90, 10)
        after = balance + amount if gain else balance - amount
        biggest = max(biggest, (amount, item), key=lambda entry: entry[0])  # the first one, if several are equal
        out.append("%d %s: %s, €%d %s €%d = €%d" % (day, s["month"][:3], item, balance, "+" if gain else "-", amount, after))
        balance = after
    s.update(k=len(days), close=balance, big=biggest[1], amount=biggest[0], diff=abs(balance - opening))
    s["way"] = "up" if balance > opening else "down"
    out.append(d.say("{Closing balance|Carried forward|Balance at the end}: €$close", s))
    out.append(d.say(["{The books show|There were} $k entries{|, {all|each} {checked|signed} by $H}. "
                      "The {largest|biggest} was $big{, at| with} €$amount.",
                      "{The|Our} {largest|biggest} {entry|item} was $big at €$amount."], s))
    if balance != opening:
        out.append(d.say(["{Over the month|From €$open to €$close}, the $shop is €$diff $way.",
                          "$H {can report|notes} that the $shop {ends|closes} $month €$diff $way.",
                          "{$close and $open are|$open and $close lie} $diff apart, so $month {ends|closes} $way."], s))
    else:
        out.append(d.say("{In all|After everything}, $month leaves the $shop {unchanged|where it was}.", s))
    return user, "\n".join(out), [s["H"], s["shop"], s["month"]]
