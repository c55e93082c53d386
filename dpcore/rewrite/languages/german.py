"""German: function words, the contracted "es", points between thousands.

Nouns have a capital. A word keeps the capitals that it has in the lexicon, so that a lexicon with
capitals writes its nouns with them under either policy for capitals.
"""

from __future__ import annotations

from dpcore.rewrite.languages.language import Ending, Language

_STOP_WORDS = """
    der die das den dem des ein eine einen einem einer eines kein keine keinen keinem keiner
    keines
    dieser diese dieses diesen diesem jener jene jenes jenen jenem jeder jede jedes jeden jedem
    derselbe dieselbe dasselbe
    ich mich mir du dich dir er ihn ihm sie es wir uns ihr euch ihnen sich man
    mein meine meinen meinem meiner meines dein deine deinen deinem deiner deines
    sein seine seinen seinem seiner seines ihre ihren ihrem ihrer ihres
    unser unsere unseren unserem unserer euer eure euren eurem eurer
    wer wen wem wessen was wann wo woher wohin warum wie welcher welche welches welchen welchem
    und oder aber denn sondern sowie noch wenn als dann weil da während obwohl falls ob dass daß
    damit bevor nachdem bis seit seitdem sobald
    in im ins an am ans auf aufs aus bei beim mit nach von vom vor zu zum zur für gegen ohne um
    über
    unter zwischen neben hinter durch wegen trotz außer entlang
    bin bist ist sind seid war warst waren wart gewesen sei wäre wären
    habe hast hat haben habt hatte hattest hatten hattet gehabt hätte hätten
    werde wirst wird werden werdet wurde wurden worden würde würden
    kann kannst können könnt konnte konnten könnte könnten muss muß musst müssen müsst musste
    mussten
    soll sollst sollen sollte sollten will willst wollen wollte wollten darf dürfen durfte
    durften
    mag mögen möchte möchten
    nicht nichts nie nur auch sehr schon so hier dort ja nein doch etwas alle allem allen aller
    alles
    beide beiden
    """

# After these words 's is "es"; after a name it is a genitive, which the lexicon holds or not.
_ES = frozenset(
    """
    geht gibt ist war wird hat kann muss soll will macht steht kommt ich du er sie wir mir dir
    wie was wo wer wenn ob dass weil hab habe
    """.split()
)

GERMAN = Language(
    code="de",
    name="German",
    stop_words=frozenset(_STOP_WORDS.split()),
    clitics=frozenset(["'s"]),
    endings=(Ending("'s", "es", _ES),),
    thousands=".",
    stop_words_released=(
        "function words such as 'der' are released unchanged: "
        "their presence and position are not protected"
    ),
    capitals_released=(
        "which words begin with a capital letter and which are all in capitals "
        "(in German a capital inside a sentence marks a noun or a name)"
    ),
)
