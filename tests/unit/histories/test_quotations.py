"""Answers in the forms of further mail programs and languages: each says "Yes, at nine." and quotes the rest."""

import pytest

from querymill_histories.rules.quotations import own_words

CLIENTS = {
    "Outlook mobile": (
        "Yes, at nine.\n\nGet Outlook for iOS<https://aka.ms/o0ukef>\n"
        "________________________________\nFrom: Ada <ada@example.org>\n"
        "Sent: Monday, May 6, 2024 9:00:00 AM\nTo: Bo <bo@example.org>\nSubject: Sail\n\nShall we?\n"
    ),
    "Outlook mobile, German": (
        "Yes, at nine.\n\nOutlook für Android<https://aka.ms/AAb9ysg> beziehen\n"
        "________________________________\nVon: Ada\nGesendet: Montag, 6. Mai 2024 09:00\nAn: Bo\n"
        "Betreff: Sail\n\nShall we?\n"
    ),
    "Outlook, Spanish": (
        "Yes, at nine.\n\nDe: Ada <a@b.example>\nEnviado el: lunes, 6 de mayo de 2024 9:00\nPara: Bo\n"
        "Asunto: Sail\n\nShall we?\n"
    ),
    "Outlook, Italian": (
        "Yes, at nine.\n\nDa: Ada\nInviato: lunedì 6 maggio 2024 09:00\nA: Bo\nOggetto: Sail\n\nShall we?\n"
    ),
    "Outlook, Dutch": (
        "Yes, at nine.\n\nVan: Ada\nVerzonden: maandag 6 mei 2024 09:00\nAan: Bo\nOnderwerp: Sail\n\nShall we?\n"
    ),
    "Outlook, Polish": (
        "Yes, at nine.\n\nOd: Ada\nWysłano: poniedziałek, 6 maja 2024 09:00\nDo: Bo\nTemat: Sail\n\nShall we?\n"
    ),
    "Outlook, Russian": (
        "Yes, at nine.\n\nОт: Ada\nОтправлено: 6 мая 2024 г. 9:00\nКому: Bo\nТема: Sail\n\nShall we?\n"
    ),
    "Outlook, Japanese": (
        "Yes, at nine.\n\n差出人: Ada\n送信日時: 2024年5月6日 9:00\n宛先: Bo\n件名: Sail\n\nShall we?\n"
    ),
    "Outlook, Turkish": (
        "Yes, at nine.\n\nKimden: Ada\nGönderildi: 6 Mayıs 2024 09:00\nKime: Bo\nKonu: Sail\n\nShall we?\n"
    ),
    "Outlook, Swedish": (
        "Yes, at nine.\n\nFrån: Ada\nSkickat: den 6 maj 2024 09:00\nTill: Bo\nÄmne: Sail\n\nShall we?\n"
    ),
    "Outlook, Portuguese": (
        "Yes, at nine.\n\nDe: Ada\nEnviada em: segunda-feira, 6 de maio de 2024 09:00\nPara: Bo\n"
        "Assunto: Sail\n\nShall we?\n"
    ),
    "Outlook, Czech": (
        "Yes, at nine.\n\nOd: Ada\nOdesláno: pondělí 6. května 2024 9:00\nKomu: Bo\nPředmět: Sail\n\nShall we?\n"
    ),
    "Outlook, Finnish": (
        "Yes, at nine.\n\nLähettäjä: Ada\nLähetetty: maanantai 6. toukokuuta 2024 9.00\n"
        "Vastaanottaja: Bo\nAihe: Sail\n\nShall we?\n"
    ),
    "Apple Mail, French": (
        "Yes, at nine.\n\n> Le 6 mai 2024 à 09:00, Ada <ada@example.org> a écrit :\n> \n> Shall we?\n"
    ),
    "Apple Mail, top, German": (
        "Yes, at nine.\n\nAm 06.05.2024 um 09:00 schrieb Ada <ada@example.org>:\n\n> Shall we?\n"
    ),
    "Apple Mail, Dutch": (
        "Yes, at nine.\n\nOp 6 mei 2024, om 09:00 heeft Ada <ada@example.org> het volgende geschreven:\n\n> Shall we?\n"
    ),
    "iPhone, Spanish": (
        "Yes, at nine.\n\nEnviado desde mi iPhone\n\n"
        "> El 6 may 2024, a las 9:00, Ada <ada@example.org> escribió:\n> \n> Shall we?\n"
    ),
    "Thunderbird, French": ("Le 06/05/2024 à 09:00, Ada Lund a écrit :\n> Shall we?\nYes, at nine.\n"),
    "Thunderbird, bottom with signature": (
        "On 06/05/2024 09:00, Ada Lund wrote:\n> Shall we?\n> \n>> Earlier\n\nYes, at nine.\n-- \nBo\n"
    ),
    "Yahoo, German": (
        "Yes, at nine.\n\n"
        "    Am Montag, 6. Mai 2024 um 09:00:00 MESZ hat Ada Lund <ada@example.org> Folgendes geschrieben:  \n"
        " \n Shall we?\n"
    ),
    "Yahoo mobile": (
        "Yes, at nine.\n\nSent from Yahoo Mail on Android\n \n"
        "  On Mon, May 6, 2024 at 9:00 AM, Ada Lund<ada@example.org> wrote:   Shall we?  \n"
    ),
    "Yahoo, Spanish": (
        "Yes, at nine.\n\n"
        "    El lunes, 6 de mayo de 2024, 09:00:00 CEST, Ada Lund <ada@example.org> escribió:  \n"
        " \n Shall we?\n"
    ),
    "K-9, short": ("Yes, at nine.\n\nAm 6. Mai 2024 09:00:00 MESZ schrieb Ada Lund <ada@example.org>:\n>Shall we?\n"),
    "K-9, English": (
        "Yes, at nine.\n\nOn 6 May 2024 09:00:00 CEST, Ada Lund <ada@example.org> wrote:\n"
        ">Shall we?\n\n-- \nSent from my Android device with K-9 Mail. Please excuse my brevity.\n"
    ),
    "K-9, bottom": (
        "On 6 May 2024 09:00:00 CEST, Ada <ada@example.org> wrote:\n>Shall we?\n\nYes, at nine.\n-- \n"
        "Sent from my Android device with K-9 Mail.\n"
    ),
    "Lotus Notes": (
        "Yes, at nine.\n\n\n\nFrom:   Ada Lund/Oslo/Port\nTo:     Bo Berg/Bergen/Port@Port\n"
        "Date:   06.05.2024 09:00\nSubject:        Sail\n\n\n\nShall we?\n"
    ),
    "Lotus Notes, classic": (
        "Yes, at nine.\n\n\n\n\nAda Lund <ada@example.org>\n06.05.2024 09:00\n\nTo\n"
        "Bo Berg <bo@example.org>\ncc\n\nSubject\nSail\n\n\n\n\n\n\nShall we?\n"
    ),
    "Lotus Notes, German": (
        "Yes, at nine.\n\n\n\nVon:    Ada Lund/Oslo/Port\nAn:     Bo Berg/Bergen/Port@Port\n"
        "Datum:  06.05.2024 09:00\nBetreff:        Sail\n\n\n\nShall we?\n"
    ),
    "Lotus Notes, wrote": ("Yes, at nine.\n\nAda Lund/Oslo/Port wrote on 06/05/2024 09:00:00:\n\n> Shall we?\n"),
    "Lotus Notes, forms": (
        "Yes, at nine.\n\n-----Ada Lund/Oslo/Port wrote: -----\nTo: Bo Berg/Bergen/Port@Port\n"
        "From: Ada Lund/Oslo/Port\nDate: 06/05/2024 09:00AM\nSubject: Sail\n\nShall we?\n"
    ),
    "Proton, German": (
        "Yes, at nine.\n\nAm Montag, 6. Mai 2024 um 9:00 AM, Ada <ada@example.org> schrieb:\n\n> Shall we?\n"
    ),
    "Proton, sent with": (
        "Yes, at nine.\n\nSent with Proton Mail secure email.\n\n"
        "On Monday, May 6th, 2024 at 9:00 AM, Ada <ada@example.org> wrote:\n\n> Shall we?\n"
    ),
    "Proton, mobile": (
        "Yes, at nine.\n\nSent from Proton Mail for Android.\n\n-------- Original Message --------\n"
        "On Monday, 05/06/24 at 09:00 Ada <ada@example.org> wrote:\n\n> Shall we?\n"
    ),
    "Gmail, Italian": (
        "Yes, at nine.\n\nIl giorno lun 6 mag 2024 alle ore 09:00 Ada Lund <ada@example.org>\n"
        "ha scritto:\n\n> Shall we?\n"
    ),
    "Gmail, Dutch": ("Yes, at nine.\n\nOp ma 6 mei 2024 om 09:00 schreef Ada Lund <ada@example.org>:\n\n> Shall we?\n"),
    "Gmail, Korean": (
        "Yes, at nine.\n\n2024년 5월 6일 (월) 오전 9:00, Ada Lund <ada@example.org>님이 작성:\n\n> Shall we?\n"
    ),
    "Gmail, Turkish": (
        "Yes, at nine.\n\nAda Lund <ada@example.org>, 6 May 2024 Pzt, 09:00 tarihinde şunu yazdı:\n\n> Shall we?\n"
    ),
    "Gmail, Hebrew": (
        "Yes, at nine.\n\n"
        "\u200f\u05d1\u05ea\u05d0\u05e8\u05d9\u05da \u05d9\u05d5\u05dd \u05d1\u05f3, 6 "
        "\u05d1\u05de\u05d0\u05d9 2024 \u05d1-9:00 \u05de\u05d0\u05ea "
        "\u202aAda Lund\u202c\u200f <\u202aada@example.org\u202c\u200f>:\u202c\n\n> Shall we?\n"
    ),
    "Gmail, Arabic": (
        "Yes, at nine.\n\n"
        "في الاثنين، 6 مايو 2024 في 9:00 ص تمت كتابة ما يلي بواسطة Ada Lund <ada@example.org>:\n\n"
        "> Shall we?\n"
    ),
    "Gmail, Swedish": (
        "Yes, at nine.\n\nDen mån 6 maj 2024 kl 09:00 skrev Ada Lund <ada@example.org>:\n\n> Shall we?\n"
    ),
    "Gmail, Vietnamese": (
        "Yes, at nine.\n\nVào Th 2, 6 thg 5, 2024 vào lúc 09:00 Ada Lund <ada@example.org> đã viết:\n\n> Shall we?\n"
    ),
    "Gmail, Thai": (
        "Yes, at nine.\n\nเมื่อ จ. 6 พ.ค. 2024 เวลา 09:00 Ada Lund <ada@example.org> เขียนว่า:\n\n> Shall we?\n"
    ),
    "eM Client": (
        'Yes, at nine.\n\n------ Original Message ------\nFrom "Ada Lund" <ada@example.org>\n'
        'To "Bo" <bo@example.org>\nDate 06.05.2024 09:00:00\nSubject Sail\n\n>Shall we?\n'
    ),
}


@pytest.mark.parametrize("client", CLIENTS)
def test_an_answer_is_without_what_its_program_quotes(client: str) -> None:
    assert own_words(CLIENTS[client]) == "Yes, at nine."


@pytest.mark.parametrize(
    "text",
    [
        "The list:\n\nTo\nBo\n\nSubject\nSail",
        "On 6 May 2024 Ada <ada@example.org> told me that nobody wrote a word of it.",
        "-----\nAda wrote it.\n-----",
        "Outlook for the week: rain.\nOutlook is fine.",
    ],
)
def test_own_words_stay(text: str) -> None:
    assert own_words(text) == text
