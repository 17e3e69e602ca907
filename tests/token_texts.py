"""Texts of many kinds, written for these tests, on which a token estimate is compared with the exact count."""

from __future__ import annotations

import base64
import hashlib
import json

_ENGLISH = """\
The agent opened the catalogue, compared three frostings by price and rating, and put the cheapest one into
the basket. It did not notice that the parcel would arrive after the party; the delivery window was printed
in grey, far below the picture. When the second judge asked why, it went back to the boundary before the
purchase, wrote down what it had learned, and chose a shop around the corner instead. Nothing else changed:
the budget, the guest list and the unfortunate allergy of one nephew stayed exactly as they were.
"""
_CODE = '''\
from collections.abc import Iterable

class ShoppingCart:
    """Items, each with a price in cents."""

    def __init__(self, maxBudgetCents: int = 10_000) -> None:
        self._items: dict[str, int] = {}
        self.maxBudgetCents = maxBudgetCents

    def add_item(self, asin: str, *, priceCents: int) -> bool:
        if self.total() + priceCents > self.maxBudgetCents or asin in self._items:
            return False
        self._items[asin] = priceCents  # nothing is lost
        return True

    def total(self) -> int:
        return sum(price for _, price in self._items.items())


def parse_rows(lines: Iterable[str]) -> list[tuple[str, float]]:
    return [(k.strip(), float(v)) for k, _, v in (line.partition("=") for line in lines) if v]
'''
_SCRIPT = """\
export async function fetchOrders(userId, { limit = 20, onError = console.error } = {}) {
  const res = await fetch(`/api/v2/users/${encodeURIComponent(userId)}/orders?limit=${limit}`);
  if (!res.ok) { onError(new Error(`HTTP ${res.status}`)); return []; }
  return (await res.json()).orders.map(o => ({ ...o, totalCents: Math.round(o.total * 100) }));
}
"""
_MARKUP = """\
<div class="product-card" data-asin="B00T6NA7PA"><h3 id="title-17">Carrot Cake Mix</h3>
  <a href="https://shop.example/dp/B00T6NA7PA?ref=sr_1_3&amp;qid=1699999999">See <b>all</b> offers</a>
  <span style="color:#c0392b;font-size:12px">$14.99</span><button disabled>Buy&nbsp;now</button></div>
"""
_SHELL = """\
$ git log --oneline -3 && ls -la /usr/local/lib/python3.11/site-packages | head
a1b2c3d (HEAD -> main) Fix off-by-one in parse_rows()
drwxr-xr-x  3 root root  4096 Nov 28 00:27 attrs-26.1.0.dist-info
-rw-r--r--  1 root root 18612 Nov 28 00:27 _cffi_backend.cpython-311-x86_64-linux-gnu.so
Traceback (most recent call last):
  File "/home/user/app/main.py", line 42, in <module>
    raise ValueError(f"bad row: {row!r}")
ValueError: bad row: ['x', None]
"""
_ROWS = [
    {
        "id": 4100 + n,
        "flight": f"HAT{n:03d}",
        "seats": {"economy": n * 7 % 19, "business": n % 4},
        "on_time": n % 3 > 0,
    }
    for n in range(12)
]
_CHINESE = """\
代理人打开了商品目录，按照价格和评分比较了三种糖霜，然后把最便宜的一种放进了购物车。它没有注意到包裹会在聚会之后才送到，
因为送货时间用灰色小字印在图片下面。第二位评审问起原因时，它回到了购买之前的步骤，记下了学到的教训，改为选择街角的那家商店。
预算、客人名单和外甥的过敏情况都没有变化。请在三天之内把发票寄到上海市浦东新区的办公室，并且附上订单编号。
"""
_TRADITIONAL = """\
代理人打開了商品目錄，依照價格與評分比較了三種糖霜，然後把最便宜的一種放進購物車。它沒有注意到包裹會在聚會之後才送達，
因為送貨時間用灰色小字印在圖片下面。第二位評審問起原因時，它回到購買之前的步驟，記下學到的教訓，改為選擇街角的那家商店。
龍年時，臺灣的廟宇張燈結綵，鞭炮聲響徹雲霄，孩童們圍著攤販買糖葫蘆。
"""
_JAPANESE = """\
エージェントはカタログを開き、三種類のフロスティングを値段と評価で比べて、いちばん安いものをカートに入れました。
荷物がパーティーのあとに届くことには気づきませんでした。配達予定は写真の下に灰色の小さな文字で書かれていたからです。
理由を聞かれると、購入前の手順まで戻り、学んだことを書き留めて、代わりに近所の店を選びました。
"""
_KOREAN = """\
에이전트는 상품 목록을 열고 세 가지 프로스팅을 가격과 평점으로 비교한 다음 가장 싼 것을 장바구니에 담았습니다.
소포가 파티가 끝난 뒤에 도착한다는 사실은 알아차리지 못했습니다. 배송 예정일이 사진 아래에 회색 글씨로 적혀 있었기 때문입니다.
이유를 묻자 구매 이전 단계로 돌아가 배운 점을 적어 두고 대신 길모퉁이에 있는 가게를 골랐습니다.
"""
_RUSSIAN = """\
Агент открыл каталог, сравнил три глазури по цене и оценке и положил самую дешёвую в корзину. Он не заметил, что
посылка придёт уже после праздника: срок доставки был напечатан серым шрифтом под картинкой. Когда его спросили о
причине, он вернулся к шагу перед покупкой, записал, чему научился, и выбрал магазин за углом.
"""
_GREEK = """\
Ο πράκτορας άνοιξε τον κατάλογο, σύγκρινε τρία γλάσα με βάση την τιμή και τη βαθμολογία και έβαλε το φθηνότερο στο
καλάθι. Δεν πρόσεξε ότι το δέμα θα έφτανε μετά τη γιορτή, γιατί η ημερομηνία ήταν γραμμένη με γκρίζα γράμματα.
"""
_ARABIC = """\
فتح الوكيل قائمة المنتجات وقارن بين ثلاثة أنواع من الكريمة حسب السعر والتقييم، ثم وضع الأرخص في السلة. لم ينتبه إلى أن
الطرد سيصل بعد الحفلة، لأن موعد التسليم كان مكتوبا بخط رمادي صغير تحت الصورة.
"""
_HEBREW = """\
הסוכן פתח את הקטלוג, השווה שלושה ציפויים לפי מחיר ודירוג, והכניס את הזול ביותר לעגלה. הוא לא שם לב שהחבילה תגיע רק
אחרי המסיבה, כי מועד המשלוח הודפס באפור מתחת לתמונה.
"""
_HINDI = """\
एजेंट ने सूची खोली, दाम और रेटिंग के आधार पर तीन फ्रॉस्टिंग की तुलना की और सबसे सस्ती को टोकरी में डाल दिया। उसने ध्यान नहीं दिया कि
पार्सल दावत के बाद पहुँचेगा, क्योंकि तारीख तस्वीर के नीचे छोटे अक्षरों में लिखी थी।
"""
_TAMIL = "முகவர் பட்டியலைத் திறந்து, விலையையும் மதிப்பீட்டையும் ஒப்பிட்டு, மலிவானதை கூடையில் வைத்தார். பொதி விருந்துக்குப் பிறகே வரும் என்பதை கவனிக்கவில்லை.\n"
_THAI = """\
ตัวแทนเปิดรายการสินค้า เปรียบเทียบครีมสามชนิดตามราคาและคะแนน แล้วหยิบอันที่ถูกที่สุดใส่ตะกร้า เขาไม่ทันสังเกตว่าพัสดุจะมาถึงหลังงานเลี้ยง
เพราะวันที่พิมพ์ด้วยตัวอักษรสีเทาใต้รูปภาพ
"""
_VIETNAMESE = """\
Tác tử mở danh mục, so sánh ba loại kem phủ theo giá và điểm đánh giá, rồi bỏ loại rẻ nhất vào giỏ hàng. Nó không để ý
rằng gói hàng sẽ đến sau bữa tiệc, vì ngày giao được in bằng chữ xám nhỏ bên dưới bức ảnh.
"""
_GERMAN = """\
Der Agent öffnete den Katalog, verglich drei Tortenüberzüge nach Preis und Bewertung und legte den günstigsten in den
Warenkorb. Dass das Paket erst nach der Geburtstagsfeier ankäme, übersah er: Die Lieferzeitangabe stand in Grau unter
dem Produktbild. Die Rechtsschutzversicherungsgesellschaften und Donaudampfschifffahrtskapitäne blieben unerwähnt.
"""
_FINNISH = """\
Agentti avasi luettelon, vertasi kolmea kuorrutetta hinnan ja arvostelun mukaan ja pani halvimman ostoskoriin. Se ei
huomannut, että paketti saapuisi vasta juhlien jälkeen, sillä toimituspäivä oli painettu harmaalla kuvan alapuolelle.
"""
_POLISH = """\
Agent otworzył katalog, porównał trzy polewy według ceny i oceny, po czym włożył najtańszą do koszyka. Nie zauważył, że
przesyłka dotrze dopiero po przyjęciu, bo termin wydrukowano szarą czcionką pod zdjęciem.
"""
_GEORGIAN = "აგენტმა გახსნა კატალოგი, შეადარა სამი კრემი ფასისა და შეფასების მიხედვით და ყველაზე იაფი კალათაში ჩადო.\n"
_AMHARIC = "ወኪሉ ዝርዝሩን ከፈተ፣ ሦስት ዓይነት ክሬሞችን በዋጋና በደረጃ አወዳደረ፣ ከዚያም በጣም ርካሹን ወደ ቅርጫቱ ጨመረ።\n"
_BURMESE = "ကိုယ်စားလှယ်သည် စာရင်းကို ဖွင့်ပြီး ဈေးနှုန်းနှင့် အဆင့်သတ်မှတ်ချက်ကို နှိုင်းယှဉ်ကာ အသက်သာဆုံးကို ခြင်းထဲ ထည့်ခဲ့သည်။\n"
_MATHS = """\
Let f : ℝ → ℝ with ∀x ∈ ℝ, |f(x) − f(y)| ≤ L·|x − y|. Then ∫₀¹ f(t) dt ≈ ∑ᵢ₌₁ⁿ f(xᵢ)/n + O(n⁻²), so ‖f‖₂ ≤ √2·π.
\\begin{align} \\nabla_{\\theta} J(\\theta) &= \\mathbb{E}_{\\tau \\sim p_\\theta}\\left[\\sum_{t=0}^{T} \\gamma^t r_t\\right] \\end{align}
"""
_TABLE = """\
| asin       | price  | rating | ships |
|------------|-------:|:------:|-------|
| B00T6NA7PA |  14.99 |  4.5   | yes   |
| B003GQP06O |  34.27 |  N.A.  | no    |
┌────────────┬────────┐
│ B071S91WRZ │  16.00 │
└────────────┴────────┘
"""
_URLS = """\
https://www.example.org/search?q=gluten+free&page=2&sort=price%20asc&utm_source=newsletter#results
https://cdn.example.net/assets/img/4f/9a/IMG_20240115_093042.jpg?w=640&h=480
s3://bucket-name/year=2024/month=01/part-00017-of-00128.snappy.parquet
"""
_EMOJI = "😀😃🤣😊😍😘🥳🎉🎂🍰🧁🛒💳📦🚚✅❌⚠️🔥👍👎🙏💡🔍🏆🥇👩‍🍳👨‍👩‍👧‍👦🇩🇪🇯🇵🏳️‍🌈🧑🏽‍🚀🦄🦷🪐🫠❤️☀️⭐\n"
_TALK = "omg 😂😂 that cake 🎂 was sooo good!!! 🤤 thx @anna & @ben 🙏🙏 see u 2morrow ❤️ lol 👍🏽\n"


def _bytes() -> bytes:
    return b"".join(hashlib.sha256(bytes([n])).digest() for n in range(64))


def _digits() -> str:
    return str(int.from_bytes(_bytes()[:1000], "big"))


def _numbers() -> str:
    return " ".join(f"{byte * 37 / 8:.2f}," for byte in _bytes()[:200])


def _uuids() -> str:
    hexed = _bytes().hex()
    return "".join(
        f"{hexed[n : n + 8]}-{hexed[n + 8 : n + 12]}-{hexed[n + 12 : n + 16]}-{hexed[n + 16 : n + 28]}\n"
        for n in range(0, 2000, 28)
    )


TEXTS = {
    "English": _ENGLISH,
    "Python": _CODE,
    "JavaScript": _SCRIPT,
    "HTML": _MARKUP,
    "shell": _SHELL,
    "JSON": json.dumps(_ROWS),
    "JSON without spaces": json.dumps(_ROWS, separators=(",", ":")),
    "JSON indented": json.dumps(_ROWS, indent=4),
    "JSON in a JSON string": json.dumps(json.dumps(_ROWS)),
    "JSON with escapes": json.dumps(_CHINESE),
    "Chinese": _CHINESE,
    "Chinese, traditional": _TRADITIONAL,
    "Japanese": _JAPANESE,
    "Korean": _KOREAN,
    "Russian": _RUSSIAN,
    "Greek": _GREEK,
    "Arabic": _ARABIC,
    "Hebrew": _HEBREW,
    "Hindi": _HINDI,
    "Tamil": _TAMIL,
    "Thai": _THAI,
    "Vietnamese": _VIETNAMESE,
    "German": _GERMAN,
    "Finnish": _FINNISH,
    "Polish": _POLISH,
    "Georgian": _GEORGIAN,
    "Amharic": _AMHARIC,
    "Burmese": _BURMESE,
    "mathematics": _MATHS,
    "tables": _TABLE,
    "addresses": _URLS,
    "base64": base64.b64encode(_bytes()).decode(),
    "base64, in lines": base64.encodebytes(_bytes()).decode(),
    "base32": base64.b32encode(_bytes()).decode(),
    "base85": base64.b85encode(_bytes()).decode(),
    "hexadecimal": _bytes().hex(),
    "hexadecimal, capitals": _bytes().hex().upper(),
    "uuids": _uuids(),
    "digits": _digits(),
    "numbers": _numbers(),
    "emoji": _EMOJI,
    "chat": _TALK,
    "capitals": _ENGLISH.upper(),
    "Title Case": _ENGLISH.title(),
    "rare ideographs": "".join(map(chr, range(0x20000, 0x20100))),
    "hieroglyphs": "".join(map(chr, range(0x13000, 0x13100))),
    "Cherokee": "".join(map(chr, range(0x13A0, 0x13F0))),
    "punctuation": "!?;:,.<>{}[]()'\"`~@#$%^&*-_=+|\\/" * 4,
    "control characters": "".join(map(chr, range(1, 9))) * 8,
}
