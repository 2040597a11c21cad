"""The names of the months in many languages, as the Common Locale Data Repository has them."""

from typing import Final

#: In small letters and without a point at the end, for each month.
MONTH_NAMES: Final = (
    (
        "ene enero gen gener gennaio ian ianuarie jaan jaanuar jan janeiro januar januari januarie "
        "january január januára janv janvier janvāris janúar jän jänner led leden ledna oca ocak saus "
        "sausio sausis sij siječanj siječnja sty styczeń stycznia tammi tammikuu tammikuuta urt urtarrila "
        "xan xaneiro ιαν ιανουάριοσ ιανουαρίου січ січень січня янв январь января яну януари јан јануар "
        "ינואר ינו׳ جنوری يناير जनवरी जन॰ जाने जानेवारी জানু জানুয়ারি ਜਨ ਜਨਵਰੀ જાન્યુ જાન્યુઆરી ஜன ஜனவரி "
        "జన జనవరి ಜನ ಜನವರಿ ജനു ജനുവരി ม.ค มกราคม"
    ),
    (
        "feb febbraio febr febreiro febrer febrero februar februari februarie february február februára "
        "februāris febrúar fev fevereiro févr février helmi helmikuu helmikuuta lut lutego luty ots "
        "otsaila peb pebrero vas vasario vasaris veebr veebruar velj veljača veljače úno únor února şub "
        "şubat φεβ φεβρουάριοσ φεβρουαρίου лют лютий лютого феб фебруар фев февр февраль февраля февруари "
        "פברואר פבר׳ شباط فبراير فروری फ़रवरी फ़र॰ फेब्रु फेब्रुवारी ফেব ফেব্রুয়ারি ਫ਼ਰ ਫ਼ਰਵਰੀ ફેબ્રુ "
        "ફેબ્રુઆરી பிப் பிப்ரவரி ఫిబ్ర ఫిబ్రవరి ಫೆಬ್ರ ಫೆಬ್ರವರಿ ഫെബ്രു ഫെബ്രുവരി ก.พ กุมภาพันธ์"
    ),
    (
        "bře březen března kov kovas kovo maalis maaliskuu maaliskuuta maart mac machi mar marca march "
        "marec maret mars marso mart martie marts martxoa marzec marzo març março mrt márc március mär "
        "märts märz ožu ožujak ožujka μάρ μάρτιοσ μαρ μαρτίου бер березень березня мар март марта מרץ "
        "آذار مارس مارچ मार्च মার্চ ਮਾਰਚ માર્ચ மார் மார்ச் మార్చి ಮಾರ್ಚ್ മാർ മാർച്ച് มี.ค มีนาคม"
    ),
    (
        "abr abril api apirila apr april aprile aprili aprilie aprill apríl apríla aprīlis avr avril bal "
        "balandis balandžio dub duben dubna d’abr d’abril huhti huhtikuu huhtikuuta kwi kwiecień kwietnia "
        "nis nisan tra travanj travnja ápr április απρ απρίλιοσ απριλίου апр апрель апреля април квіт "
        "квітень квітня אפריל אפר׳ أبريل اپریل نيسان अप्रैल एप्रि एप्रिल এপ্রি এপ্রিল ਅਪ੍ਰੈ ਅਪ੍ਰੈਲ એપ્રિલ "
        "ஏப் ஏப்ரல் ఏప్రి ఏప్రిల్ ಏಪ್ರಿ ಏಪ್ರಿಲ್ ഏപ്രി ഏപ്രിൽ เม.ย เมษายน"
    ),
    (
        "geg gegužė gegužės kvě květen května mag maggio mai maiatza maig maijs maio maj maja may mayo "
        "mayıs maí mei máj mája május svi svibanj svibnja touko toukokuu toukokuuta μάι μάιοσ μαΐ "
        "μαΐου май мая мај трав травень травня מאי أيار مئی مايو मई मे মে ਮਈ મે மே మే ಮೇ മേയ് พ.ค "
        "พฤษภาคม"
    ),
    (
        "birž birželio birželis cze czerwca czerwiec eka ekaina giu giugno haz haziran hun hunyo iun "
        "iunie juin jun june junho juni junie junij junio juny juuni jún júna június júní jūn jūnijs kesä "
        "kesäkuu kesäkuuta lipanj lipnja xuño červen června čvn ιουν ιουνίου ιούν ιούνιοσ июн июнь июня "
        "черв червень червня юни јун יוני جون حزيران يونيو जून জুন ਜੂਨ જૂન ஜூன் జూన్ ಜೂನ್ ജൂൺ มิ.ย "
        "มิถุนายน"
    ),
    (
        "heinä heinäkuu heinäkuuta hul hulyo iul iulie juil juillet jul julai julho juli julie julij "
        "julio juliol july juuli júl júla július júlí jūl jūlijs liep liepa liepos lip lipca lipiec lug "
        "luglio srpanj srpnja tem temmuz uzt uztaila xul xullo července červenec čvc ιουλ ιουλίου ιούλ "
        "ιούλιοσ июл июль июля лип липень липня юли јул יולי تموز جولائی يوليو जुलाई जुलै जुल॰ জুল জুলাই "
        "ਜੁਲਾ ਜੁਲਾਈ જુલાઈ ஜூலை జులై ಜುಲೈ ജൂലൈ ก.ค กรกฎาคม"
    ),
    (
        "abu abuztua ag ago agost agosti agosto agu agustus août aug august augusta augusti augusts "
        "augustus augusztus avg avgust ağu ağustos d’ag d’agost elo elokuu elokuuta kol kolovoz kolovoza "
        "ogo ogos rugp rugpjūtis rugpjūčio sie sierpień sierpnia srp srpen srpna ágú ágúst αυγ αυγούστου "
        "αύγ αύγουστοσ авг август августа серп серпень серпня אוגוסט אוג׳ آب أغسطس اگست अगस्त अग॰ ऑग "
        "ऑगस्ट আগ আগস্ট ਅਗ ਅਗਸਤ ઑગસ્ટ ஆக ஆகஸ்ட் ఆగ ఆగస్టు ಆಗ ಆಗಸ್ಟ್ ഓഗ ഓഗസ്റ്റ് ส.ค สิงหาคม"
    ),
    (
        "eyl eylül ira iraila rugs rugsėjis rugsėjo ruj rujan rujna sep sept septemba september septembra "
        "septembre septembrie septembris septiembre set setembre setembro settembre setyembre syys "
        "syyskuu syyskuuta szept szeptember wrz wrzesień września zář září σεπ σεπτέμβριοσ σεπτεμβρίου "
        "вер вересень вересня сент сентябрь сентября сеп септембар септември ספטמבר ספט׳ أيلول سبتمبر "
        "ستمبر सप्टें सप्टेंबर सितंबर सित॰ সেপ সেপ্ট সেপ্টেম্বর ਸਤੰ ਸਤੰਬਰ સપ્ટે સપ્ટેમ્બર செப் செப்டம்பர் "
        "సెప్టెం సెప్టెంబర్ ಸೆಪ್ಟೆಂ ಸೆಪ್ಟೆಂಬರ್ സെപ്റ്റം സെപ്റ്റംബർ ก.ย กันยายน"
    ),
    (
        "d’oct d’octubre eki ekim loka lokakuu lokakuuta oct october octobre octombrie octubre okt oktoba "
        "oktober oktobris oktoober oktubre október októbra ott ottobre out outubro paź październik "
        "października spal spalio spalis urr urria říj říjen října οκτ οκτωβρίου οκτώβριοσ жовт жовтень "
        "жовтня окт октобар октомври октябрь октября אוקטובר אוק׳ أكتوبر اکتوبر अक्टूबर अक्टू॰ ऑक्टो "
        "ऑक्टोबर অক্টো অক্টোবর ਅਕਤੂ ਅਕਤੂਬਰ ઑક્ટો ઑક્ટોબર அக் அக்டோபர் అక్టో అక్టోబర్ ಅಕ್ಟೋ ಅಕ್ಟೋಬರ್ ഒക്ടോ "
        "ഒക്‌ടോബർ ต.ค ตุลาคม"
    ),
    (
        "aza azaroa kas kasım lapkr lapkritis lapkričio lis listopad listopada listopadu marras marraskuu "
        "marraskuuta nob nobyembre noiembrie nov novemba november novembra novembre novembris novembro "
        "noviembre nóv nóvember stu studeni studenoga νοέ νοέμβριοσ νοε νοεμβρίου лист листопад листопада "
        "нов новембар ное ноември нояб ноябрь ноября נובמבר נוב׳ نوفمبر نومبر नवंबर नव॰ नोव्हें नोव्हेंबर "
        "নভে নভেম্বর ਨਵੰ ਨਵੰਬਰ નવે નવેમ્બર நவ நவம்பர் నవం నవంబర్ ನವೆಂ ನವೆಂಬರ್ നവം നവംബർ พ.ย พฤศจิกายน"
    ),
    (
        "abe abendua ara aralık dec december decembra decembrie decembris decembro des desemba desember "
        "desembre dets detsember dez dezember dezembro dic dicembre diciembre dis disember disyembre déc "
        "décembre gru grudnia grudzień gruod gruodis gruodžio joulu joulukuu joulukuuta pro prosinac "
        "prosinca prosince prosinec δεκ δεκέμβριοσ δεκεμβρίου груд грудень грудня дек декабрь декабря "
        "декември дец децембар דצמבר דצמ׳ دسمبر ديسمبر डिसें डिसेंबर दिसंबर दिस॰ ডিসে ডিসেম্বর ਦਸੰ ਦਸੰਬਰ "
        "ડિસે ડિસેમ્બર டிச டிசம்பர் డిసెం డిసెంబర్ ಡಿಸೆಂ ಡಿಸೆಂಬರ್ ഡിസം ഡിസംബർ ธ.ค ธันวาคม"
    ),
)  # fmt: skip
NUMBER_OF: Final = {name: number for number, names in enumerate(MONTH_NAMES, 1) for name in names.split()}
