"""Encodings that a text does not name: a dozen languages in their legacy encodings, in long and short comments."""

from collections import Counter
from collections.abc import Iterator

import pytest

from querymill_reading.legacy_encodings import told_by_letters

#: By language: its encodings, short comments, of which the last is a word, and a long one.
TEXTS: dict[str, tuple[tuple[str, ...], tuple[str, ...], str]] = {
    "japanese": (
        ("cp932", "euc_jp"),
        ("港の使用料を計算する", "設定ファイルを読み込む", "エラーの場合", "初期化処理"),
        "港の使用料を計算する。遅れると延滞料がかかる。船の大きさによって料金が変わるので注意すること。結"
        "果は円で返す。"
    ),
    "chinese": (
        ("gb18030",),
        ("计算港口使用费", "读取配置文件", "错误处理", "初始化"),
        "计算港口的使用费。如果船只迟到，就要支付滞纳金。费用取决于船的大小，所以请注意。返回的结果以人民"
        "币为单位。"
    ),
    "traditional": (
        ("big5",),
        ("計算港口使用費", "讀取設定檔", "錯誤處理", "初始化"),
        "計算港口的使用費。如果船隻遲到，就要支付滯納金。費用取決於船的大小，所以請注意。傳回的結果以新臺"
        "幣為單位。"
    ),
    "korean": (
        ("cp949", "euc_kr"),
        ("항구 사용료를 계산한다", "설정 파일을 읽는다", "오류 처리", "초기화"),
        "항구 사용료를 계산한다. 늦으면 연체료가 붙는다. 배의 크기에 따라 요금이 달라지므로 주의해야 "
        "한다. 결과는 원으로 돌려준다."
    ),
    "russian": (
        ("cp1251", "koi8_r", "cp866", "iso8859_5"),
        ("Вычисляет портовый сбор", "чтение файла настроек", "обработка ошибок", "размер"),
        "Вычисляет портовый сбор за стоянку судна. Если судно опаздывает, начисляется пеня. Сбор зависит "
        "от размера судна, поэтому будьте внимательны. Результат возвращается в рублях."
    ),
    "ukrainian": (
        ("cp1251", "koi8_u"),
        ("Обчислює портовий збір", "читання файлу налаштувань", "обробка помилок", "розмір"),
        "Обчислює портовий збір за стоянку судна. Якщо судно запізнюється, нараховується пеня. Збір "
        "залежить від розміру судна, тому будьте уважні. Результат повертається у гривнях."
    ),
    "greek": (
        ("cp1253", "iso8859_7"),
        ("Υπολογίζει το λιμενικό τέλος", "διαβάζει το αρχείο ρυθμίσεων", "χειρισμός σφαλμάτων", "μέγεθος"),
        "Υπολογίζει το λιμενικό τέλος του πλοίου. Αν το πλοίο καθυστερήσει, επιβάλλεται πρόστιμο. Το "
        "τέλος εξαρτάται από το μέγεθος του πλοίου, γι αυτό προσέξτε. Το αποτέλεσμα είναι σε ευρώ."
    ),
    "hebrew": (
        ("cp1255",),
        ("חישוב אגרת הנמל", "קריאת קובץ ההגדרות", "טיפול בשגיאות", "גודל"),
        "חישוב אגרת הנמל של הספינה. אם הספינה מאחרת, מוטל קנס. האגרה תלויה בגודל הספינה, לכן יש לשים לב. "
        "התוצאה מוחזרת בשקלים."
    ),
    "arabic": (
        ("cp1256",),
        ("حساب رسوم الميناء", "قراءة ملف الإعدادات", "معالجة الأخطاء", "حجم"),
        "حساب رسوم الميناء للسفينة. إذا تأخرت السفينة تفرض غرامة. تعتمد الرسوم على حجم السفينة، لذلك "
        "يرجى الانتباه. النتيجة بالدولار."
    ),
    "thai": (
        ("cp874",),
        ("คำนวณค่าธรรมเนียมท่าเรือ", "อ่านไฟล์การตั้งค่า", "จัดการข้อผิดพลาด", "ขนาด"),
        "คำนวณค่าธรรมเนียมท่าเรือของเรือ ถ้าเรือมาช้าจะต้องเสียค่าปรับ "
        "ค่าธรรมเนียมขึ้นอยู่กับขนาดของเรือ ดังนั้นโปรดระวัง ผลลัพธ์เป็นบาท"
    ),
    "turkish": (
        ("cp1254",),
        ("Liman ücretini hesaplar", "ayar dosyasını okur", "hata işleme", "büyüklüğü"),
        "Geminin liman ücretini hesaplar. Gemi gecikirse ceza uygulanır. Ücret geminin büyüklüğüne "
        "bağlıdır, bu yüzden dikkatli olun. Sonuç lira olarak döndürülür."
    ),
    "polish": (
        ("cp1250", "iso8859_2"),
        ("Oblicza opłatę portową", "wczytuje plik z ustawieniami, jeśli istnieje", "obsługa błędów", "wielkość"),
        "Oblicza opłatę portową za postój statku. Jeśli statek się spóźnia, naliczana jest kara. Opłata "
        "zależy od wielkości statku, więc należy uważać. Wynik jest zwracany w złotych."
    ),
    "czech": (
        ("cp1250", "iso8859_2"),
        ("Vypočítá přístavní poplatek", "načte soubor s nastavením", "ošetření chyb", "velikost lodě"),
        "Vypočítá přístavní poplatek za kotvení lodi. Když se loď opozdí, účtuje se pokuta. Poplatek "
        "závisí na velikosti lodi, takže buďte opatrní. Výsledek se vrací v korunách."
    ),
    "hungarian": (
        ("cp1250", "iso8859_2"),
        ("Kiszámítja a kikötői díjat", "beolvassa a beállításokat", "hibakezelés, ha szükséges", "hajó űrtartalma"),
        "Kiszámítja a hajó kikötői díját. Ha a hajó késik, bírságot kell fizetni. A díj a hajó méretétől "
        "függ, ezért ügyeljen rá. Az eredményt forintban adja vissza, a hiányzó értékek fölött őrködik."
    ),
    "german": (
        ("cp1252", "mac_roman", "cp850"),
        ("Berechnet die Hafengebühr", "liest die Einstellungen für später", "Größe", "Übersicht"),
        "Berechnet die Hafengebühr für das Schiff. Verspätet sich das Schiff, fällt eine Säumnisgebühr "
        "an. Die Gebühr hängt von der Größe ab, also prüfen. Das Ergebnis ist in Euro – höchstens „zwei“ "
        "Stellen."
    ),
    "french": (
        ("cp1252", "mac_roman", "cp850"),
        ("Calcule le droit de port réel", "lit le fichier de paramètres", "gère les erreurs", "déjà lu"),
        "Calcule le droit de port du navire. S'il est en retard, une pénalité est appliquée. Le droit "
        "dépend de la taille du navire, donc soyez prudent à cet égard. Le résultat est renvoyé en "
        "euros, très précis."
    ),
    "spanish": (
        ("cp1252",),
        ("Calcula la tasa según el tamaño", "lee la configuración", "errores según código", "tamaño"),
        "Calcula la tasa portuaria según el tamaño del buque. Si el buque llega tarde, se aplica una "
        "multa. ¿Qué pasa mañana? El resultado se devuelve en euros y también en pesos, con atención a "
        "los años."
    ),
    "portuguese": (
        ("cp1252",),
        ("Calcula a taxa da embarcação", "lê as configurações", "exceções não tratadas", "posição"),
        "Calcula a taxa portuária da embarcação. Se a embarcação atrasa, há uma multa. A taxa depende do "
        "tamanho, então tenha atenção. O resultado é devolvido em euros, não em dólares; a função também "
        "não lança exceções."
    ),
    "swedish": (
        ("cp1252",),
        ("Beräknar hamnavgiften för fartyget", "läser inställningar", "felhantering när något går fel", "nästa ålder"),
        "Beräknar hamnavgiften för fartyget. Om fartyget är försenat tas en straffavgift ut. Avgiften "
        "beror på fartygets storlek, så var försiktig. Resultatet återges i kronor och ören, även när "
        "det är noll."
    ),
}  # fmt: skip
#: Words without kana, Hangul or a mark: what these bytes are in one encoding, others read as words, too.
WORDS = {
    "euc_jp": (
        "初期化処理 計算結果出力 使用料金計算処理 入力値検証 文字列変換関数 設定情報取得 例外発生時 "
        "配列要素数 最大値最小値 接続先情報保存 一時領域解放 画面表示更新 引数確認 戻値 通信異常検出 "
        "日付変換 認証情報送信 文字列長 実行開始時刻 処理終了 内部状態管理 商品在庫数更新 顧客番号検索 "
        "港湾施設利用料 年月日 変数宣言部 乱数生成器 非同期通信"
    ),
    "cp932": (
        "初期化処理 計算結果出力 使用料金計算処理 入力値検証 文字列変換関数 設定情報取得 例外発生時 "
        "配列要素数 最大値最小値 接続先情報保存 一時領域解放 画面表示更新 引数確認 戻値 通信異常検出 "
        "日付変換 認証情報送信 文字列長 実行開始時刻 処理終了 内部状態管理 商品在庫数更新 顧客番号検索 "
        "港湾施設利用料 年月日 変数宣言部 乱数生成器 非同期通信"
    ),
    "gb18030": (
        "初始化 计算结果输出 使用费计算 输入验证 字符串转换函数 获取配置信息 发生异常时 数组元素个数 "
        "最大值最小值 保存连接信息 释放临时内存 刷新界面显示 检查参数 返回值 检测通信异常 日期转换 "
        "发送认证信息 字符串长度 开始执行时间 处理结束 内部状态管理 更新库存数量 查询客户编号 港口设施 "
        "年月日 变量声明 随机数生成器 异步通信"
    ),
    "big5": (
        "初始化 計算結果輸出 使用費計算 輸入驗證 字串轉換函式 取得設定資訊 發生例外時 陣列元素個數 "
        "最大值最小值 儲存連線資訊 釋放暫存記憶體 更新畫面顯示 檢查參數 回傳值 檢測通訊異常 日期轉換 "
        "發送認證資訊 字串長度 開始執行時間 處理結束 內部狀態管理 更新庫存數量 查詢客戶編號 港口設施 "
        "年月日 變數宣告 亂數產生器 非同步通訊"
    ),
    "cp949": (
        "초기화 계산결과출력 사용료 입력값검증 문자열변환 설정정보 예외발생시 배열 최대값 저장 해제 갱신 "
        "확인 반환값 통신 날짜 인증 길이 시작 종료"
    ),
}  # fmt: skip
CODE = (
    "/* {} */\nint harbour_fee(int length, int late) {{\n    return length * 3 + late;\n}}\n",
    "# {}\ndef harbour_fee(length, late):\n    return length * 3 + late\n",
    "x = read(path)  // {}\n",
)
#: What older encodings lack, and what was typed instead.
TYPED = str.maketrans("–„“”’¿ґ", '-"""\'?г')


def _sources() -> Iterator[tuple[str, str, str, str]]:
    """Yield the language, an encoding, the length and the text of a source file."""
    for language, (encodings, short, long) in TEXTS.items():
        for encoding in encodings:
            for number, comment in enumerate((*short, long)):
                source = CODE[number % len(CODE)].format(comment)
                try:
                    source.encode(encoding)
                except UnicodeEncodeError:
                    source = source.translate(TYPED)
                yield language, encoding, "long" if comment is long else "short", source


def _outcome(source: str, encoding: str) -> str:
    told = told_by_letters(source.encode(encoding))
    return "undecided" if told is None else "right" if told.text == source else "wrong"


def test_no_comment_is_read_as_other_letters_and_long_ones_are_read() -> None:
    outcomes = {(length, *of, text): _outcome(text, of[1]) for *of, length, text in _sources()}
    counted = Counter((length, outcome) for (length, *_), outcome in outcomes.items())
    assert [key for key, outcome in outcomes.items() if outcome == "wrong"] == []
    assert counted["long", "undecided"] == 0
    assert counted["short", "right"] > 3 * counted["short", "undecided"]


@pytest.mark.parametrize("encoding", WORDS)
def test_a_few_ideographs_are_read_rightly_or_not_decided(encoding: str) -> None:
    outcomes = {word: _outcome(f"/* {word} */ int a;", encoding) for word in WORDS[encoding].split()}
    assert [word for word, outcome in outcomes.items() if outcome == "wrong"] == []


def test_bytes_that_are_no_text_have_no_encoding() -> None:
    assert told_by_letters(bytes(range(128, 256)) * 4) is None
    assert told_by_letters(b"\xff\xfe\xfd\xfc abc") is None


@pytest.mark.parametrize("encoding", ["cp1252", "iso8859-1", "iso8859-15"])
def test_one_accent_is_enough_where_each_language_reads_the_same(encoding: str) -> None:
    source = "# a café by the harbour\n"
    told = told_by_letters(source.encode(encoding))
    assert told is not None
    assert told.text == source


@pytest.mark.parametrize(
    "source",
    [
        "Склад пересчитывают каждое утро\n", "# Фонари на пр\nx = 1\n", "/* Отчёт за месяц и за год */\n",
        "Берег, Вода, Причал: список\n",
    ],
)  # fmt: skip
def test_capitals_of_a_macintosh_are_no_quotation_marks_of_windows(source: str) -> None:
    assert _outcome(source, "mac_cyrillic") != "wrong"
    assert _outcome(source, "cp1251") == "right"
    assert _outcome(f"“{source.strip()}” — так сказано\n", "cp1251") == "right"
