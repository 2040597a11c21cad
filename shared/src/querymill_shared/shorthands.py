"""Other ways of saying a module, by default: the setting ``QUERYMILL_MODULE_SHORTHANDS`` replaces them."""

#: Common names of VTK's API, and phrases that stand for modules without being part of their names.
MODULE_SHORTHANDS: dict[str, list[str]] = {
    **{
        name: []
        for name in (
            "actor", "mapper", "renderer", "renderWindow", "interactor", "camera", "polyData", "imageData", "volume",
            "ConeSource", "SphereSource", "CubeSource", "CylinderSource", "PlaneSource", "LineSource",
            "STLReader", "OBJReader", "PLYReader", "ColorTransferFunction", "PiecewiseFunction", "LookupTable",
        )
    },
    "point picking": ["vtkPointPicker"],
    "cell picking": ["vtkCellPicker"],
    "scalar bar": ["vtkScalarBarActor"],
    "orientation axes": ["vtkOrientationMarkerWidget", "vtkAxesActor"],
    # Shapes.
    "圆锥": ["vtkConeSource"], "锥体": ["vtkConeSource"],
    "球体": ["vtkSphereSource"], "画球": ["vtkSphereSource"], "画一个球": ["vtkSphereSource"],
    "立方体": ["vtkCubeSource"], "正方体": ["vtkCubeSource"], "长方体": ["vtkCubeSource"],
    "圆柱": ["vtkCylinderSource"], "同心圆柱": ["vtkConcentricCylinderSource"],
    "箭头": ["vtkArrowSource"], "圆形": ["vtkCircleSource"], "圆圈": ["vtkCircleSource"],
    "线段": ["vtkLineSource"], "直线": ["vtkLineSource"], "管道": ["vtkTubeFilter"], "样条": ["vtkSplineWidget"],
    "天空盒": ["vtkSkybox"],
    # Lights, colours and surfaces.
    "光照": ["vtkLight"], "灯光": ["vtkLight"], "光源": ["vtkLight"],
    "颜色映射": ["vtkColorTransferFunction"], "颜色传递函数": ["vtkColorTransferFunction"],
    "传递函数": ["vtkColorTransferFunction", "vtkPiecewiseFunction"], "查找表": ["vtkLookupTable"],
    "色标": ["vtkScalarBarActor"], "颜色条": ["vtkScalarBarActor"], "图例": ["vtkScalarBarActor"],
    "纹理": ["vtkTexture"], "贴图": ["vtkTexture"], "材质": ["vtkProperty"],
    # Views and what happens in them.
    "相机": ["vtkCamera"], "摄像机": ["vtkCamera"], "视角": ["vtkCamera"],
    "坐标轴": ["vtkAxesActor"], "方向标记": ["vtkOrientationMarkerWidget"], "拾取": ["vtkCellPicker", "vtkPointPicker"],
    "轮廓": ["vtkOutlineFilter"], "包围盒": ["vtkBoundingBox"],
    # Volumes and images.
    "体绘制": ["vtkVolume", "vtkVolumeMapper"], "体渲染": ["vtkVolume", "vtkVolumeMapper"],
    "等值面": ["vtkImageMarchingCubes"], "等值线": ["vtkImageMarchingSquares"], "图像切片": ["vtkImageSlice"],
}  # fmt: skip
