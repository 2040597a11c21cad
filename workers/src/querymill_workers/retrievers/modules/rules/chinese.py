"""English words for a Chinese request: code, its identifiers and mostly its descriptions are English.

The words of 3D graphics stand in a table here, the terms of software in the table that all retrievers share
(`text/synonyms.py`). The English words are added to the request; the Chinese ones stay, since a description may be
Chinese.
"""

import re
from typing import Final

from querymill_workers.text.synonyms import expand

_CHINESE: Final = re.compile("[\u3400-\u4dbf\u4e00-\u9fff]")
_WORDS: Final = """
背景 | background
颜色 上色 着色 | color
红色 | red color
绿色 | green color
蓝色 | blue color
黄色 | yellow color
白色 | white color
黑色 | black color
透明 半透明 | opacity transparent
光照 灯光 光源 | light lighting
阴影 | shadow
材质 | material property
纹理 贴图 | texture
环境光 | ambient light
高光 镜面 | specular
相机 摄像机 | camera
视角 视图 | view camera
正交 平行投影 | parallel projection
缩放 | zoom scale
平移 | pan translate
旋转 | rotate rotation
拖动 拖拽 | drag
鼠标 | mouse
键盘 | keyboard key
触摸 手势 | gesture touch
交互 | interactor interaction
控件 小部件 | widget
滑块 滑动条 | slider
标签 文字标注 | label
文字 文本 | text label
注释 标注 | annotation
测量 距离 | distance measure
角度 | angle
坐标轴 方向轴 | axes orientation
包围盒 边界框 | bounding box
轮廓 外框 | outline
网格 | mesh grid
三角形 三角面 | triangle
点云 | points cloud
箭头 | arrow
圆锥 锥体 | cone
球体 球 | sphere
立方体 方块 | cube
圆柱 柱体 | cylinder
圆形 圆圈 | circle
平面 | plane
直线 线段 | line
曲线 样条 | spline curve
管道 管状 | tube
椭圆 | ellipse
矩形 | rectangle
多边形 | polygon
体绘制 体渲染 | volume rendering
体积 体数据 | volume
切片 | slice
重切片 斜切 | reslice
裁剪 | clip crop
切割 剖面 | cut cutter plane
等值面 | contour isosurface marching cubes
等值线 | contour marching squares
传递函数 传输函数 | transfer function
色标 颜色条 图例 | scalar bar legend
颜色映射 查找表 | lookup table color map
符号 字形 | glyph
流线 | streamline
图像 图片 | image
医学 | medical image
分割 涂抹 画笔 | paint
拾取 选取 点选 | picker select
选择 选中 | selector select
高亮 | highlight
天空盒 | skybox
虚拟现实 | VR
远程 | remote
加载 读取 导入 | load reader
保存 写入 导出 | writer export
动画 播放 | animation
时间序列 | time series
窗口 | window
全屏 | full screen
画圆锥 | cone
分子 蛋白质 | molecule
地形 高程 | elevation
变形 扭曲 | warp
平滑 | smooth
卷积 模糊 | convolution
深度 | depth
场景 | scene
"""
_LINES: Final = [line.split("|") for line in _WORDS.strip().splitlines()]
#: By Chinese term, longer ones first, so that 环境光 is not read as 光.
WORDS: Final = dict(
    sorted(
        ((term, english.split()) for terms, english in _LINES for term in terms.split()),
        key=lambda entry: (-len(entry[0]), entry[0]),
    )
)
_TERM: Final = re.compile("|".join(WORDS))
_LATIN: Final = re.compile("[A-Za-z]")


def english_words(text: str) -> list[str]:
    """Return the English words to add to a request, each once, in order; none if it has no Chinese.

    "设置背景颜色为蓝色" gives background, color, blue.
    """
    if not _CHINESE.search(text):
        return []
    found = [word for match in _TERM.finditer(text) for word in WORDS[match[0]]]
    found += [word for added in expand(text) for word in added.synonyms if _LATIN.match(word)]
    return list(dict.fromkeys(found))


def with_english(text: str) -> str:
    """Return a request with the English words of what it says in Chinese."""
    return " ".join([text, *english_words(text)])
