"""All limits (text, upload, table, vocabulary, draws); a refusal beyond one names the number."""

# Text
MAX_TEXT_CHARACTERS = 2_000  # of a text typed into a page
MAX_TEXT_TOKENS = 200  # of a text typed into a page
MAX_FILE_CHARACTERS = 50_000_000  # of a file rewritten by the command line
MAX_FILE_TOKENS = 10_000_000  # of a file rewritten by the command line
MAX_BAG_WORDS = 100_000_000  # of a shuffled bag, of which only the number is needed
MAX_REDACTED_CHARACTERS = 1_000_000  # of a text that a redactor reads: 45 seconds of its model
MAX_WRITER_TOKENS = 512  # of a private text, as a language model counts them
MAX_WRITTEN_TOKENS = 200  # that a mechanism draws for one text: about a quarter of a minute
MAX_DOCUMENT_BYTES = 50_000_000  # of one document of a corpus, which may be of any size
MAX_TABLE_COLUMNS = 10_000  # of a table; a page shows MAX_LABELLED_COLUMNS
MAX_ROW_LINES = 500_000  # of one row of CSV: more come from an unclosed quotation mark
MAX_DECODED_BYTES = 500_000_000  # of the rows of a parquet file that are read at a time

# Lexicons
MAX_VOCABULARY = 3_000_000  # words in a vector file (word2vec GoogleNews holds 3,000,000)
MAX_DIMENSION = 4_096
MAX_OWN_VECTOR_BYTES = 10_000_000  # of vectors that a page takes for one session
MIN_SOUND_ROWS = 1_000  # of a text file of vectors, for each row that is left out as malformed
MAX_BLANK_LINES = 1_000  # in a text file of vectors: a packed one may hold any number
MAX_LEXICON_NUMBERS = 1_500_000_000  # words × dimension: 6 GB (GoogleNews holds 900,000,000)
MAX_EXACT_EXTENT_WORDS = 50_000  # above this the extent is a bound until it is built on request
NEIGHBOUR_TABLE_WIDTH = 128
SEPARATED_AT_ONCE_WORDS = 2_000  # above this the least distance of derived points is not computed
CERTIFIED_AT_ONCE_WORDS = 1_000  # above this a certificate of noise is computed on request only
CERTIFIED_BY_COMMAND_WORDS = 2_000  # or by a command that needs it, where 2,000 words take seconds
PACKING_WORDS = 25_000  # of one packing programme; more are solved in parts
PACKING_BYTES = 1_300_000_000  # of distances while a packing programme is solved: 25,000 words
MAX_MAP_WORDS = 50_000  # on the map of a whole lexicon: the most frequent ones
MAX_MAP_NEIGHBOURS = 500  # of a word, on the map of its neighbourhood
MAX_MAP_JOBS = 1  # maps that are built at a time for the pages; others wait

# Draws
MAX_DRAWS = 100_000  # of one word, by the command line
MAX_RUNS = 100_000  # R of Sw; the papers have 1,000
MAX_EPSILONS = 1_000  # on one axis, by the command line
MAX_RUNS_TIMES_EPSILONS = 20_000_000  # in memory at a time: about 160 MB for each array
PAGE_DRAWS = 100  # of a sentence, on the Rewrite page
PAGE_WORDS = 100  # measured at a time, on the Deniability page
PAGE_RUNS = 2_000  # R of Sw, on the Deniability page
PAGE_RELEASE_ROWS = 5_000  # of a table whose private copy the page Release makes
PAGE_RELEASE_WORDS = 100_000  # of all its texts, between white space: ten seconds of a slow one
PAGE_RELEASE_BYTES = 2_000_000  # of all its texts
MAX_PAGE_RELEASES = 1  # private copies made at a time for the pages; others wait
PAGE_CORPUS_BYTES = 800_000  # of an uploaded text file, on the Deniability page
PAGE_CORPUS_CHARACTERS = 200_000  # of a text whose words are measured there: a second to read
MAX_SEED = 2**53 - 1  # the largest integer that a browser passes on unchanged

# Audit
MAX_AUDIT_WORDS = 5_000  # all of whose pairs are compared; beyond, a declared sample
MAX_AUDIT_TEM_WORDS = 50_000  # as above, for laws whose audit takes n² steps and not n³: TEM
MAX_AUDIT_ENTRIES = 50_000_000  # log-probabilities in memory at a time: 400 MB
MAX_AUDIT_PAIRS = 100_000  # of a sample of pairs
MAX_AUDIT_DELTA_PAIRS = 20_000  # beyond ε·d for which δ is computed, the furthest first
MAX_AUDIT_DRAWS = 10_000_000  # of one Monte Carlo bound, and calls of a function that is audited
MIN_AUDIT_CALLS = 2_000  # of such a function: with fewer nothing can be shown

# Attacker
MAX_GAME_WORDS = 12  # of the list that the secret of the guessing game is drawn from
MAX_GAME_RELEASES = 20  # outputs of one secret in that game

# The crowd
MAX_QUERIES = 2_000  # counted at a time: 25,000 words, 200 MB each thousand
MAX_CROWD_GROUPS = 200  # values of a column by which texts are counted
MAX_TEXTS_PLANNED = 10**12  # of a plan

# Workers
MAX_WORKERS = 256  # processes of one machine

# Learning
MIN_CLASS_TEXTS = 5  # of each class, in the training set and in the test set
MAX_LABELLED_BYTES = 5_000_000  # of an uploaded table of labelled texts
MAX_LABELLED_ROWS = 50_000  # of such a table
MAX_LABELLED_COLUMNS = 200  # of such a table: each is an entry of two menus
MAX_LABELLED_ENTRY = 131_072  # characters of a text in such a table
MAX_CLASSES = 20  # of the column of labels: more are names or numbers, not classes
LIVE_TEXTS = 1_500  # training and test texts of a live run; a larger table is sampled
LIVE_WORDS = 60  # of a text of a live run, its first ones
LIVE_EPSILONS = 10  # of a mechanism in a live run
LIVE_SEEDS = 5  # of a live run
MAX_LIVE_RUNS = 1  # live runs at a time for the pages; others wait
MAX_NOISE_DRAWS = 1_000_000  # of one input, for a certified prediction
MAX_SUBSTITUTES = 1_000  # of a word, in a certificate or an attack
MAX_CHECKPOINT_BYTES = 1_000_000_000  # of a network's file
MAX_SENTENCE_WORDS = 2_000  # of one text that an auto-encoder reads
MAX_SIGNS = 16  # of a vector of signs: a maximum over all 2^15 of them is exact

# Attack
MAX_ATTACK_WORDS = 50_000  # of a lexicon whose every word the attacker weighs: n²/2 distances
MAX_ATTACK_PRIOR_WORDS = 200  # that a person lists as possible; each takes a law of its own
MAX_ATTACK_OUTPUTS = 10_000  # drawn to estimate how often an attacker is right
MAX_ATTACK_RELEASES = 1_000  # of one text, in its budget
MAX_GUESSED_RELEASES = 64  # of one word, which the best attacker guesses from all outputs together
MAX_AUTHORS = 500  # told apart by their words: a row of all words for each
MAX_AUTHOR_WORDS = 100  # of each text whose author is looked for, its first ones
MAX_CURVE_POINTS = 50  # of a learning curve over the words that an author releases
MAX_ATTACK_SHOWN = 100  # words that are named as the least protected
MAX_FACTS = 2_000  # annotated in one text
MAX_FACT_TAGS = 60  # kinds of facts in a file: each is a line of a table
MAX_FACT_TAG = 40  # letters of the name of such a kind
MAX_FACT_VALUES = 200  # with which the true value of a fact is compared; of more they are drawn
MAX_POPULATION = 10_000  # texts of a genetic attack, and words tried in a place
MAX_GENERATIONS = 10_000  # of such an attack

# Pages
MAX_PAGE_WORK = 2  # long computations at a time in the process of the pages; others wait

# Uploads
MAX_UPLOAD_MEGABYTES = 10  # of one file
MAX_SESSION_FILES = 10  # that one session holds
MAX_SESSION_MEGABYTES = 20  # of all files that one session holds

# Server: of one process of the pages
REQUESTS_A_SECOND = 20  # of one tab; more wait, in their order
MAX_REQUESTS_AT_ONCE = 10  # of one tab, before they wait
REQUEST_BYTES = 50_000  # that count as one request; a longer one counts as several
MAX_REQUEST_BYTES = 1_000_000
MAX_TABS = 200  # that are open at a time
MAX_ADDRESS_TABS = 120  # of them at one network address, behind which a whole class may sit
MAX_UPLOADS = 12  # received at a time; others wait
MAX_ADDRESS_UPLOADS = 3  # of them from one network address
MAX_ADDRESS_LINE = 120  # uploads of one address, received or waiting: one for each of its tabs
MAX_UPLOAD_SECONDS = 60  # of one upload
MAX_UPLOAD_WAIT_SECONDS = 60  # until its turn
UPLOAD_BYTES_A_SECOND = 5_000  # at least, on average over UPLOAD_WINDOW_SECONDS
UPLOAD_WINDOW_SECONDS = 10
LOG_LINES = 5  # of one kind in LOG_SECONDS; the next line counts the ones that were left out
LOG_SECONDS = 60
MAX_LOG_CHARACTERS = 500  # of a message
MAX_LOG_KINDS = 1_000  # places in the code whose messages are counted
