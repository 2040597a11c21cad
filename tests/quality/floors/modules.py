"""A judged set of code documents, written for this project: what `modules` must find whatever is changed.

Each topic is one document. A weighted request asks for two topics, one more than the other, in plain words or in
Chinese, the way people ask: no class names.
"""

from functools import cache
from typing import Any, Final

from querymill_shared.contracts.modules.ingest import IngestModules, ModuleDocument
from querymill_shared.contracts.modules.search import ModuleResult, ModuleSearch
from querymill_shared.shorthands import MODULE_SHORTHANDS
from tests.fixtures.world import World, new_world

#: Topic, folder, modules beside those of every example, description, a line of code.
_DOCUMENTS: Final = """
cone | Geometry/Cone | vtkConeSource | A cone with a slider for its resolution | cone.setResolution(60)
sphere | Geometry/Ball | vtkSphereSource | A sphere whose radius follows the pointer | sphere.setRadius(2)
cube | Geometry/Box | vtkCubeSource | A cube that spins on its corner | cube.setXLength(1)
cylinder | Geometry/Pipe | vtkCylinderSource | A cylinder, hollow and capped | cylinder.setCapping(false)
arrow | Geometry/Arrow | vtkArrowSource | An arrow that points north | arrow.setTipLength(0.3)
line | Geometry/Segment | vtkLineSource | A line between two points | line.setPoint1(0, 0, 0)
tube | Filters/Tubes | vtkTubeFilter | Tubes around the edges of a drawing | tubes.setNumberOfSides(12)
contour | Filters/Contour | vtkImageMarchingCubes | An isosurface, by marching cubes | marching.setContourValue(0.5)
clip | Filters/Clip | vtkPlane | Clip what lies behind a plane | mapper.addClippingPlane(plane)
warp | Filters/Warp | vtkWarpScalar | Warp a terrain by its height | warp.setScaleFactor(3)
light | Rendering/Lamp | vtkLight | A lamp that moves: light and dark sides | light.setIntensity(0.8)
background | Rendering/Backdrop | vtkRenderer | The background color | renderer.setBackground(0.1, 0.2, 0.4)
texture | Rendering/Wood | vtkTexture | A wooden texture on a board | texture.setInterpolate(true)
skybox | Rendering/Heaven | vtkSkybox | A skybox all around the viewer | skybox.addTexture(six)
opacity | Rendering/Glass | vtkProperty | Glass: opacity of a surface, from clear to dull | property.setOpacity(0.4)
outline | Rendering/Frame | vtkOutlineFilter | An outline around what was loaded | outline.setInputData(mesh)
camera | Views/Orbit | vtkCamera | The camera circles around its target | camera.azimuth(5)
axes | Views/Compass | vtkAxesActor,vtkOrientationMarkerWidget | Axes in a corner | widget.setEnabled(true)
legend | Views/Legend | vtkScalarBarActor | A legend: the scalar bar beside the picture | bar.setAxisLabel("K")
slice | Images/Slices | vtkImageSlice,vtkImageMapper | Slice through a scan | mapper.setSlicingMode(2)
volume | Images/Fog | vtkVolume,vtkVolumeMapper | Volume rendering of a smoke cloud | mapper.setSampleDistance(0.7)
lookup | Images/Palette | vtkLookupTable | A lookup table maps numbers to hues | table.setHueRange(0, 0.7)
paint | Images/Brush | vtkPaintFilter | Paint a segmentation with a brush | paint.setRadius(4)
picker | Interaction/Touch | vtkCellPicker | Pick a cell with a click | picker.pick([x, y, 0], renderer)
distance | Interaction/Ruler | vtkDistanceWidget | Measure the distance between two clicks | widget.getDistance()
slider | Interaction/Knob | vtkSlider | A slider drives a value | slider.setValue(5)
label | Interaction/Notes | vtkLabelWidget | A label with a text that follows its anchor | label.setLabelText("here")
reader | Files/Load | vtkSTLReader | Load a model from a file that was dropped | reader.parseAsArrayBuffer(file)
writer | Files/Save | vtkSTLWriter | Save the mesh: export what is shown | writer.write(mesh)
animation | Files/Series | vtkTimeSeries | An animation of a time series, frame by frame | series.setTime(3)
"""

_ALWAYS: Final = (
    "vtk.Rendering.Misc.vtkFullScreenRenderWindow",
    "vtk.Rendering.Core.vtkActor",
    "vtk.Rendering.Core.vtkMapper",
)


def _document(number: int, line: str) -> dict[str, Any]:
    _, folder, modules, description, code = (part.strip() for part in line.split(" | "))
    names = [*_ALWAYS, *(f"vtk.Some.Where.{name}" for name in modules.split(","))]
    return {
        "faiss_id": number,
        "file_path": f"Samples/{folder}/index.js",
        "code": f"const scene = start();\n{code};\nscene.render();",
        "meta_info": {"vtkjs_modules": names, "description": description},
    }


_LINES: Final = _DOCUMENTS.strip().splitlines()
DOCUMENTS: Final = [_document(number, line) for number, line in enumerate(_LINES)]
#: The document of a topic.
TOPICS: Final = {line.split(" | ")[0]: number for number, line in enumerate(_LINES)}

#: What is asked more, what is asked less, and their topics.
WEIGHTED: Final[list[tuple[tuple[str, str], tuple[str, str]]]] = [
    (("a cone", "cone"), ("the background", "background")),
    (("draw a sphere", "sphere"), ("light it with a lamp", "light")),
    (("a cube that spins", "cube"), ("a wooden texture", "texture")),
    (("a hollow cylinder", "cylinder"), ("axes in the corner", "axes")),
    (("an arrow", "arrow"), ("a legend for the colors", "legend")),
    (("a line", "line"), ("measure a distance", "distance")),
    (("tubes around edges", "tube"), ("a slider", "slider")),
    (("an isosurface", "contour"), ("clip with a plane", "clip")),
    (("warp by height", "warp"), ("a lookup table", "lookup")),
    (("a skybox", "skybox"), ("the camera circles", "camera")),
    (("make it look like glass", "opacity"), ("an outline around it", "outline")),
    (("slice through a scan", "slice"), ("paint a segmentation", "paint")),
    (("smoke as a volume", "volume"), ("load from a file", "reader")),
    (("pick a cell by a click", "picker"), ("a label with a text", "label")),
    (("export the mesh", "writer"), ("an animation over time", "animation")),
    (("画一个圆锥", "cone"), ("设置背景颜色", "background")),
    (("画一个球体", "sphere"), ("添加光照", "light")),
    (("立方体", "cube"), ("贴上纹理", "texture")),
    (("圆柱", "cylinder"), ("显示坐标轴", "axes")),
    (("画一个箭头", "arrow"), ("颜色条图例", "legend")),
    (("两点之间的线段", "line"), ("测量距离", "distance")),
    (("管道", "tube"), ("滑块", "slider")),
    (("提取等值面", "contour"), ("用平面裁剪", "clip")),
    (("地形变形", "warp"), ("查找表", "lookup")),
    (("天空盒", "skybox"), ("旋转相机", "camera")),
    (("半透明的表面", "opacity"), ("显示外框", "outline")),
    (("图像切片", "slice"), ("用画笔涂抹分割", "paint")),
    (("体绘制", "volume"), ("从文件加载模型", "reader")),
    (("点选拾取单元", "picker"), ("文字标签", "label")),
    (("导出网格", "writer"), ("播放动画", "animation")),
]

#: Requests without parts, with the topics that answer them.
QUESTIONS: Final[list[tuple[str, set[str]]]] = [
    ("设置背景颜色为蓝色", {"background"}),
    ("如何添加光照和阴影", {"light"}),
    ("用vtk.js画一个圆锥 example", {"cone"}),
    ("请用vtkSkybox渲染天空", {"skybox"}),
    ("加载STL模型并显示外框", {"reader", "outline"}),
    ("how do I show a scalar bar", {"legend"}),
    ("vtkImageMarchingCubes", {"contour"}),
    ("backdrop", {"background"}),
    ("compass in a corner of the window", {"axes"}),
    ("something like a ruler", {"distance"}),
    ("the brush example", {"paint"}),
    ("cell picking", {"picker"}),
    ("ConeSource", {"cone"}),
    ("volume fog", {"volume"}),
    ("export STL", {"writer"}),
]


@cache
def load() -> World:
    """Return a world with the documents."""
    world = new_world()
    world.with_ports(shorthands=MODULE_SHORTHANDS)
    for document in DOCUMENTS:
        world.run(IngestModules(collection="samples", documents=(ModuleDocument.model_validate(document),)))
    return world


def found(query: str, **fields: Any) -> list[int | str]:
    """Search, and return the ids of the documents."""
    request = ModuleSearch.model_validate({"collection": "samples", "query": query, "top_k": 10} | fields)
    world = load()
    result = world.result(world.run(request))
    assert isinstance(result, ModuleResult)
    return [hit.document for hit in result.results]
