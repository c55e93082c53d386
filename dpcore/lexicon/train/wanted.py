"""Words of conversation that are rare in an encyclopedia.

These enter the vocabulary if they occur in the texts at all, before rank decides. They come in
groups, one per paragraph: the internet; days and months; numbers; cities; first names; diseases;
money; food; judgements and feelings; greetings; plain verbs; pronouns and contractions; people and
places.
"""

from __future__ import annotations

WANTED = frozenset(
    """
    password username login inbox spam email e-mail mail website online internet browser
    download upload click server computer laptop phone facebook google twitter youtube wikipedia
    wifi software hacker smartphone selfie

    monday tuesday wednesday thursday friday saturday sunday january february march april may
    june july august september october november december

    one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen
    sixteen seventeen eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety
    hundred thousand million billion

    london paris berlin madrid rome moscow tokyo beijing delhi mumbai sydney toronto chicago
    boston seattle houston dallas miami atlanta philadelphia amsterdam vienna dublin istanbul
    cairo singapore

    john james robert michael william david richard joseph thomas mary patricia jennifer linda
    elizabeth barbara susan jessica sarah karen lisa nancy emma anna maria alice bob peter paul
    mark laura julia kate tom anne eve oliver sophie daniel

    cancer diabetes asthma flu influenza malaria pneumonia stroke arthritis depression anxiety
    hiv aids epilepsy covid fever allergy obesity dementia tuberculosis hepatitis migraine cold
    cough headache

    money dollar dollars euro euros pound pounds cash credit debit loan mortgage salary wage
    rent tax bank account price cheap expensive debt invoice payment

    bread cheese pizza pasta rice chicken beef pork fish egg eggs salad soup sandwich burger
    fries coffee tea beer wine milk water juice sugar salt pepper butter apple banana orange
    lemon tomato potato chocolate cake cookie breakfast lunch dinner yummy tasty sushi taco
    tacos steak bacon shrimp noodles cereal

    delicious terrible awful horrible great wonderful excellent amazing fantastic lovely nice
    bad good boring funny stupid happy sad angry scared tired hungry thirsty beautiful ugly rude
    friendly kind lazy smart clever crazy weird strange pathetic lonely worried nervous jealous
    proud grateful ashamed disappointed excited annoyed hilarious disgusting gross cute
    ridiculous gorgeous

    hello hi thanks please sorry yes no okay ok bye goodbye welcome hey wow yeah

    go went gone eat ate eaten drink drank sleep slept buy bought sell sold love hate like want
    need think thought know knew say said tell told ask asked give gave get got make made take
    took run ran walk walked

    i you he she it we they me him her us them my your his its our their mine yours a an the
    don't can't won't isn't doesn't didn't i'm you're it's that's i've i'll we're they're
    couldn't wouldn't let's

    mother father mom dad brother sister son daughter wife husband boyfriend girlfriend uncle
    aunt grandmother grandfather baby kid kids teacher nurse doctor lawyer police patient
    hospital movie film actor actress restaurant waiter waitress food service hotel school
    college university office home house apartment kitchen airport station car train plane bike
    girl boy man woman friend neighbor boss colleague
    """.split()
)
