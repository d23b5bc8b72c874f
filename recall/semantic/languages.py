"""The languages whose word forms are brought together, and how one is recognised.

A language is recognised by its function words (articles, pronouns, prepositions,
auxiliaries), which are also the words that say nothing about a message's subject.
Everything else is indexed as written: the ``simple`` language.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from functools import lru_cache

import Stemmer

SIMPLE = "simple"

# Accents are folded, as in the index.
FUNCTION_WORDS: dict[str, frozenset[str]] = {
    "english": frozenset(
        ["a", "an", "the", "this", "that", "these", "those", "some", "any", "each", "every", "such", "same", "other", "i", "me", "my", "mine", "myself", "we", "us", "our", "ours", "ourselves", "you", "your", "yours", "yourself", "yourselves", "he", "him", "his", "himself", "she", "her", "hers", "herself", "it", "its", "itself", "they", "them", "their", "theirs", "themselves", "who", "whom", "whose", "which", "what", "when", "where", "why", "how", "there", "here", "am", "is", "are", "was", "were", "be", "been", "being", "have", "has", "had", "having", "do", "does", "did", "doing", "done", "will", "would", "shall", "should", "can", "could", "may", "might", "must", "don", "t", "s", "m", "re", "ve", "ll", "d", "isn", "aren", "wasn", "weren", "hasn", "haven", "hadn", "doesn", "didn", "won", "wouldn", "shouldn", "couldn", "cannot", "and", "or", "but", "nor", "if", "then", "else", "because", "while", "so", "than", "as", "though", "although", "until", "of", "at", "by", "for", "with", "about", "against", "between", "into", "through", "during", "before", "after", "above", "below", "to", "from", "up", "down", "in", "out", "on", "off", "over", "under", "again", "further", "once", "onto", "upon", "not", "no", "only", "own", "too", "very", "just", "also", "both", "few", "more", "most", "all", "now", "even", "still"]
    ),
    "french": frozenset(
        ["le", "la", "les", "l", "un", "une", "des", "du", "de", "d", "au", "aux", "ce", "cet", "cette", "ces", "mon", "ma", "mes", "ton", "ta", "tes", "son", "sa", "ses", "notre", "nos", "votre", "vos", "leur", "leurs", "je", "j", "tu", "il", "elle", "on", "nous", "vous", "ils", "elles", "me", "m", "te", "t", "se", "s", "lui", "moi", "toi", "y", "en", "qui", "que", "qu", "quoi", "dont", "ou", "quand", "comment", "pourquoi", "combien", "quel", "quelle", "quels", "quelles", "est", "sont", "suis", "es", "sommes", "etes", "etait", "etaient", "etre", "ete", "ai", "as", "a", "avons", "avez", "ont", "avait", "avaient", "avoir", "fait", "et", "mais", "donc", "or", "ni", "car", "si", "comme", "parce", "lorsque", "puis", "alors", "ainsi", "dans", "par", "pour", "sur", "sous", "avec", "sans", "chez", "entre", "vers", "depuis", "pendant", "avant", "apres", "ne", "n", "pas", "plus", "aussi", "tres", "bien", "tout", "toute", "tous", "toutes", "c"]
    ),
    "german": frozenset(
        ["der", "die", "das", "den", "dem", "des", "ein", "eine", "einen", "einem", "einer", "eines", "kein", "keine", "keinen", "dieser", "diese", "dieses", "diesen", "ich", "mich", "mir", "du", "dich", "dir", "er", "ihn", "ihm", "sie", "ihr", "es", "wir", "uns", "euch", "ihnen", "mein", "meine", "meinen", "dein", "deine", "sein", "seine", "seinen", "unser", "unsere", "euer", "wer", "wen", "wem", "was", "wann", "wo", "warum", "wie", "welche", "welcher", "welches", "ist", "sind", "bin", "bist", "war", "waren", "wart", "sein", "gewesen", "habe", "hast", "hat", "haben", "hatte", "hatten", "werde", "wird", "werden", "wurde", "wurden", "kann", "konnte", "muss", "soll", "will", "und", "oder", "aber", "denn", "weil", "wenn", "dass", "ob", "als", "damit", "in", "im", "an", "am", "auf", "aus", "bei", "mit", "nach", "von", "vom", "zu", "zum", "zur", "uber", "unter", "vor", "hinter", "zwischen", "durch", "fur", "gegen", "ohne", "um", "bis", "nicht", "nur", "noch", "auch", "schon", "sehr", "so", "da", "hier", "dann"]
    ),
    "spanish": frozenset(
        ["el", "la", "los", "las", "lo", "un", "una", "unos", "unas", "al", "del", "este", "esta", "estos", "estas", "ese", "esa", "esos", "esas", "yo", "me", "mi", "tu", "te", "ti", "usted", "el", "ella", "nos", "nosotros", "vosotros", "ellos", "ellas", "se", "su", "sus", "mis", "tus", "nuestro", "nuestra", "que", "quien", "cual", "cuales", "cuando", "donde", "como", "cuanto", "por", "porque", "es", "son", "soy", "eres", "somos", "era", "eran", "fue", "fueron", "ser", "estar", "estoy", "esta", "estan", "he", "has", "ha", "hemos", "han", "habia", "hay", "tengo", "tiene", "y", "e", "o", "u", "pero", "sino", "si", "aunque", "pues", "entonces", "de", "a", "ante", "con", "contra", "desde", "en", "entre", "hacia", "hasta", "para", "segun", "sin", "sobre", "tras", "no", "ni", "mas", "muy", "ya", "tambien", "solo", "todo", "toda", "todos", "todas", "le", "les"]
    ),
    "portuguese": frozenset(
        ["o", "a", "os", "as", "um", "uma", "uns", "umas", "ao", "aos", "do", "da", "dos", "das", "no", "na", "nos", "nas", "num", "numa", "pelo", "pela", "este", "esta", "estes", "estas", "esse", "essa", "isso", "isto", "aquele", "aquela", "eu", "me", "mim", "tu", "te", "voce", "ele", "ela", "nos", "vos", "voces", "eles", "elas", "se", "seu", "sua", "seus", "suas", "meu", "minha", "meus", "minhas", "nosso", "nossa", "que", "quem", "qual", "quais", "quando", "onde", "como", "quanto", "porque", "e", "sao", "sou", "era", "eram", "foi", "foram", "ser", "estar", "estou", "esta", "estao", "tenho", "tem", "temos", "tinha", "ha", "havia", "e", "ou", "mas", "se", "embora", "pois", "entao", "de", "a", "com", "contra", "desde", "em", "entre", "ate", "para", "por", "sem", "sobre", "nao", "nem", "mais", "muito", "ja", "tambem", "so", "todo", "toda", "todos", "todas", "lhe", "lhes"]
    ),
    "italian": frozenset(
        ["il", "lo", "la", "i", "gli", "le", "l", "un", "uno", "una", "al", "allo", "alla", "ai", "agli", "alle", "dal", "dalla", "del", "dello", "della", "dei", "degli", "delle", "nel", "nella", "nei", "nelle", "sul", "sulla", "questo", "questa", "questi", "queste", "quello", "quella", "io", "mi", "me", "tu", "ti", "te", "lui", "lei", "noi", "ci", "voi", "vi", "loro", "si", "suo", "sua", "suoi", "mio", "mia", "miei", "tuo", "tua", "nostro", "nostra", "che", "chi", "cui", "quale", "quali", "quando", "dove", "come", "quanto", "perche", "e", "sono", "sei", "siamo", "siete", "era", "erano", "fu", "essere", "stato", "stata", "ho", "hai", "ha", "abbiamo", "avete", "hanno", "aveva", "avere", "e", "ed", "o", "ma", "se", "anche", "quindi", "di", "a", "da", "in", "con", "su", "per", "tra", "fra", "senza", "non", "ne", "piu", "molto", "gia", "solo", "tutto", "tutta", "tutti", "tutte", "c", "d"]
    ),
    "dutch": frozenset(
        ["de", "het", "een", "dit", "dat", "deze", "die", "ik", "mij", "me", "jij", "je", "jou", "u", "hij", "hem", "zij", "ze", "haar", "wij", "we", "ons", "jullie", "hen", "hun", "mijn", "jouw", "uw", "zijn", "onze", "wie", "wat", "wanneer", "waar", "waarom", "hoe", "welke", "welk", "is", "ben", "bent", "was", "waren", "geweest", "heb", "hebt", "heeft", "hebben", "had", "hadden", "word", "wordt", "worden", "werd", "kan", "kon", "moet", "zal", "wil", "en", "of", "maar", "want", "omdat", "als", "dan", "dus", "in", "op", "aan", "uit", "bij", "met", "naar", "van", "voor", "over", "onder", "tussen", "door", "tegen", "zonder", "om", "tot", "te", "niet", "geen", "nog", "ook", "al", "zeer", "heel", "hier", "daar", "er"]
    ),
}
LANGUAGES = tuple(FUNCTION_WORDS)

_stemmers = threading.local()


@lru_cache(maxsize=100_000)
def stem(word: str, language: str) -> str:
    """``word`` without its inflection, by the Snowball algorithm of the language."""
    if language == SIMPLE:
        return word
    stemmer = getattr(_stemmers, language, None)
    if stemmer is None:
        # A stemmer may be used by one thread at a time.
        stemmer = Stemmer.Stemmer(language)
        setattr(_stemmers, language, stemmer)
    return stemmer.stemWord(word)


def detect(words: Iterable[str], *, setting: str = "auto") -> str:
    """The language of the words: the one with the most function words among them.

    ``simple`` when there is none or two languages are level. A ``setting`` other than
    ``auto`` is the answer for every text.
    """
    if setting != "auto":
        return setting
    counts = function_word_counts(words)
    if not counts:
        return SIMPLE
    best = max(counts.values())
    leaders = [language for language, count in counts.items() if count == best]
    return leaders[0] if len(leaders) == 1 else SIMPLE


def function_word_counts(words: Iterable[str]) -> dict[str, int]:
    """For each language with any, how many of the words are its function words."""
    counts: dict[str, int] = {}
    for word in words:
        if word in _LANGUAGES_OF:
            for language in _LANGUAGES_OF[word]:
                counts[language] = counts.get(language, 0) + 1
    return counts


_LANGUAGES_OF: dict[str, tuple[str, ...]] = {
    word: tuple(name for name in LANGUAGES if word in FUNCTION_WORDS[name])
    for words in FUNCTION_WORDS.values()
    for word in words
}
