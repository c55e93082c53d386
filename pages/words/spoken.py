"""What the components of the page Words say themselves; they fill the gaps."""

from __future__ import annotations

from pages.shared.language import later

PANES = {
    "gap": later("nearest word at {distance}"),
    "around": later("Words around {word}, by distance"),
    "away": later("{word}, distance {distance}"),
    "itself": later("{word}, the word itself"),
    "distance": later("distance {distance}"),
    "the word": later("the word itself"),
    "most": later("at most {chance}"),
    "interval": later("95 %: {low} to {high}"),
    "elsewhere": later("elsewhere: {chance}"),
    "stays": later("stays {chance}"),
    "noise": later("median noise: {length}"),
    "always": later("practically always"),
    "never": later("practically never"),
    "in": later("{count} in {whole}"),
    "of": later("{count} of {whole}"),
    "undefined": later("{mechanism} is not defined at {reading}."),
    "one draw": later("One draw"),
    "hundred": later("A hundred"),
    "key": later("10 of 100: area is probability. Rings are true distances, angles mean nothing."),
    "sheet": later("Area is probability; rings are true distances; angles mean nothing."),
    "how": later("How is this computed?"),
    "how stands": later(
        "In the middle stands a word, around it its nearest words at their true distance in the "
        "vectors, in one scale for both panes. The angles are arranged for reading and mean "
        "nothing."
    ),
    "how area": later(
        "The area of a disc is the probability that the word comes out, in one scale; the dot "
        "stays where that is too small to be seen. The arc at the rim is the share of all other "
        "words."
    ),
    "how noise": later(
        "The dashed ring is the median length of the noise, where noise is added to the vectors; "
        "an arrow at the rim stands for a ring outside. Noise acts in all dimensions at once: it "
        "may be longer than every distance and still leave the word where it is."
    ),
    "how draws": later(
        "Draws are real ones under a fixed seed, each followed through all ε; the arrow of a draw "
        "points to the word that came out."
    ),
    "exact": later("Probabilities of {mechanism}: {detail}."),
    "estimated": later(
        "Probabilities of {mechanism}: {detail}, with intervals of level 95 % at each word."
    ),
    "file": later("Figure as {form}"),
    "long": later(" (noise {length} long)"),
    "became": later("{word} became {output}{noise}"),
    "stayed": later("{word} stayed{noise}"),
    "times": later("{word} stayed {count} times"),
    "times away": later("{word} stayed {count} times, went elsewhere {away}"),
    "sum": later("Of {count} draws each: {sums}."),
}

MAP = {
    "no webgl": later(
        "This browser offers no WebGL: the points are drawn without it, and may move less smoothly."
    ),
    "too old": later("This browser cannot unpack the map: a newer version of it can."),
    "tap": later(
        "Tap a point or find a word: its truly nearest words appear here, and lines lead to them."
    ),
    "make first": later("Make it the first word"),
    "make second": later("Make it the second word"),
    "looking": later("Its nearest words are being looked up…"),
    "nearest": later("Words truly nearest to {word}, with their distances"),
    "find": later("Find a word by its beginning"),
    "offers": later("Words that begin so"),
    "none": later("No word of this map holds that: try a shorter beginning."),
    "map": later("map"),
    "nearer": later("Come nearer"),
    "farther": later("Go farther"),
    "whole": later("Whole map"),
    "waiting": later("The words are on their way…"),
    "focus": later("The word in focus"),
    "file": later("What is in sight as {form}"),
    "legend": later("Mean distance to the {count} truly nearest words:"),
    "crowded": later("crowded, up to {distance}"),
    "to": later("to {distance}"),
    "alone": later("to {distance}, alone"),
    "pair": later("{word} and its nearest"),
    "keys": later(
        "{alt} Arrow keys move the map, plus and minus zoom, 0 shows the whole, Enter looks at "
        "the word in the middle."
    ),
}
