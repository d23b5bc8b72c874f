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


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Accents are folded, as in the index.
FUNCTION_WORDS: dict[str, frozenset[str]] = {
    "english": _words(
        """
        a about above after again against all also although am an and any are aren
        as at be because been before being below between both but by can cannot
        could couldn d did didn do does doesn doing don done down during each else
        even every few for from further had hadn has hasn have haven having he her
        here hers herself him himself his how i if in into is isn it its itself just
        ll m may me might mine more most must my myself no nor not now of off on
        once only onto or other our ours ourselves out over own re s same shall she
        should shouldn so some still such t than that the their theirs them
        themselves then there these they this those though through to too under
        until up upon us ve very was wasn we were weren what when where which while
        who whom whose why will with won would wouldn you your yours yourself
        yourselves
        """
    ),
    "french": _words(
        """
        a ai ainsi alors apres as au aussi aux avaient avait avant avec avez avoir
        avons bien c car ce ces cet cette chez combien comme comment d dans de
        depuis des donc dont du elle elles en entre es est et etaient etait ete etes
        etre fait il ils j je l la le les leur leurs lorsque lui m ma mais me mes
        moi mon n ne ni nos notre nous on ont or ou par parce pas pendant plus pour
        pourquoi puis qu quand que quel quelle quelles quels qui quoi s sa sans se
        ses si sommes son sont sous suis sur t ta te tes toi ton tous tout toute
        toutes tres tu un une vers vos votre vous y
        """
    ),
    "german": _words(
        """
        aber als am an auch auf aus bei bin bis bist da damit dann das dass dein
        deine dem den denn der des dich die diese diesen dieser dieses dir du durch
        ein eine einem einen einer eines er es euch euer fur gegen gewesen habe
        haben hast hat hatte hatten hier hinter ich ihm ihn ihnen ihr im in ist kann
        kein keine keinen konnte mein meine meinen mich mir mit muss nach nicht noch
        nur ob oder ohne schon sehr sein seine seinen sie sind so soll uber um und
        uns unser unsere unter vom von vor wann war waren wart warum was weil welche
        welcher welches wem wen wenn wer werde werden wie will wir wird wo wurde
        wurden zu zum zur zwischen
        """
    ),
    "spanish": _words(
        """
        a al ante aunque como con contra cual cuales cuando cuanto de del desde
        donde e el ella ellas ellos en entonces entre era eran eres es esa esas ese
        esos esta estan estar estas este estos estoy fue fueron ha habia hacia han
        has hasta hay he hemos la las le les lo los mas me mi mis muy ni no nos
        nosotros nuestra nuestro o para pero por porque pues que quien se segun ser
        si sin sino sobre solo somos son soy su sus tambien te tengo ti tiene toda
        todas todo todos tras tu tus u un una unas unos usted vosotros y ya yo
        """
    ),
    "portuguese": _words(
        """
        a ao aos aquela aquele as ate com como contra da das de desde do dos e ela
        elas ele eles em embora entao entre era eram essa esse esta estao estar
        estas este estes estou eu foi foram ha havia isso isto ja lhe lhes mais mas
        me meu meus mim minha minhas muito na nao nas nem no nos nossa nosso num
        numa o onde os ou para pela pelo pois por porque quais qual quando quanto
        que quem sao se sem ser seu seus so sobre sou sua suas tambem te tem temos
        tenho tinha toda todas todo todos tu um uma umas uns voce voces vos
        """
    ),
    "italian": _words(
        """
        a abbiamo agli ai al alla alle allo anche avere avete aveva c che chi ci
        come con cui d da dal dalla degli dei del della delle dello di dove e ed era
        erano essere fra fu gia gli ha hai hanno ho i il in io l la le lei lo loro
        lui ma me mi mia miei mio molto ne nei nel nella nelle noi non nostra nostro
        o per perche piu quale quali quando quanto quella quello questa queste
        questi questo quindi se sei senza si siamo siete solo sono stata stato su
        sua sul sulla suo suoi te ti tra tu tua tuo tutta tutte tutti tutto un una
        uno vi voi
        """
    ),
    "dutch": _words(
        """
        aan al als ben bent bij daar dan dat de deze die dit door dus een en er geen
        geweest haar had hadden heb hebben hebt heeft heel hem hen het hier hij hoe
        hun ik in is je jij jou jouw jullie kan kon maar me met mij mijn moet naar
        niet nog of om omdat onder ons onze ook op over te tegen tot tussen u uit uw
        van voor waar waarom wanneer want waren was wat we welk welke werd wie wij
        wil word worden wordt zal ze zeer zij zijn zonder
        """
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
    ``auto`` is the answer for every text; a name that is not known means ``simple``.
    """
    if setting != "auto":
        return setting if setting in FUNCTION_WORDS else SIMPLE
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
