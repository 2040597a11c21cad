"""Everyday words of Chinese questions in English, for histories that were talked about in English.

`synonyms.py` has the technical terms. These words say what was done to them, so they are looked up only where a
question is in another script than the sessions. The table was written for this project.
"""

import re
from collections.abc import Mapping
from typing import Final

from querymill_workers.text.synonyms import TERMS, Expansion, expand

_WORDS: Final = """
删除 delete remove | 删掉 delete remove | 移除 remove | 清除 clear | 清理 clean cleanup | 清空 clear empty | 添加 add
增加 add | 新增 add new | 加上 add | 加入 add join | 插入 insert | 修改 change modify edit | 更改 change
改成 change replace | 改为 change replace | 改名 rename | 重命名 rename | 更新 update | 升级 upgrade | 降级 downgrade
替换 replace | 换成 replace switch | 切换 switch toggle | 创建 create | 新建 create new | 建立 create establish
生成 generate | 构建 build | 编译 compile build | 打包 package bundle | 安装 install | 卸载 uninstall
启动 start launch | 停止 stop | 重启 restart | 关闭 close shut disable | 打开 open | 启用 enable | 禁用 disable
开启 enable turn | 运行 run | 执行 execute run | 调用 call invoke | 触发 trigger | 处理 handle process
解决 fix solve resolve | 修复 fix repair | 修好 fix | 修正 fix correct | 改进 improve | 改善 improve
优化 optimize improve | 简化 simplify | 重写 rewrite | 拆分 split | 合并 merge combine | 分离 separate split
提取 extract | 抽取 extract | 移动 move | 迁移 migrate move | 复制 copy duplicate | 粘贴 paste | 重复 duplicate repeat
去重 deduplicate duplicates | 排序 sort order | 过滤 filter | 筛选 filter | 分组 group | 统计 count statistics
计算 compute calculate | 比较 compare | 对比 compare | 匹配 match | 查找 find look | 寻找 find | 找不到 found missing
搜索 search | 读取 read | 写入 write | 保存 save | 存储 store storage | 加载 load | 导入 import | 导出 export
上传 upload | 下载 download | 发送 send | 接收 receive | 推送 push | 拉取 pull fetch | 获取 get fetch | 返回 return
显示 show display | 隐藏 hide | 展示 show display | 渲染 render | 打印 print | 输出 output | 输入 input | 检查 check
检测 detect | 验证 verify validate | 校验 validate check | 确认 confirm | 判断 decide check | 监听 listen watch
监视 watch monitor | 监控 monitor watch | 轮询 poll polling | 等待 wait | 跳过 skip | 忽略 ignore
丢失 lost lose missing | 丢 lost drop | 缺少 missing lack | 缺失 missing | 遗漏 missing | 恢复 restore resume recover
继续 continue resume | 取消 cancel | 撤销 undo revert | 回退 revert rollback | 限制 limit restrict | 支持 support
允许 allow | 阻止 prevent block | 拒绝 reject refuse deny | 避免 avoid | 使用 use | 设置 set settings setup
设计 design | 实现 implement | 开发 develop | 编写 write | 讨论 discuss | 决定 decide decision | 选择 choose select
建议 suggest suggestion recommend | 评审 review | 审查 review | 分析 analyze analysis | 调查 investigate
排查 investigate troubleshoot | 说明 explain describe | 记录 record log | 文档 document documentation docs
注释 comment | 说明书 manual | 总结 summary summarize | 计划 plan | 同步 sync synchronize | 并行 parallel
阻塞 block blocking | 卡住 stuck hang | 卡死 hang freeze | 卡顿 lag slow | 崩溃 crash | 失败 fail failure
出错 error fail | 报错 error | 错误 error wrong | 不对 wrong | 无效 invalid | 失效 expired invalid stale
过期 expire expired | 冲突 conflict | 泄漏 leak | 泄露 leak | 溢出 overflow | 断开 disconnect drop
连接 connect connection | 连不上 connect refused | 慢 slow | 变慢 slow slower | 快 fast | 速度 speed
加速 speed faster | 大量 many large bulk | 太多 many | 太大 large big | 太长 long | 空白 blank empty | 空 empty
黑屏 black screen | 白屏 blank white screen | 乱码 garbled encoding | 闪烁 flicker | 声音 sound audio
没有声音 sound audio | 声卡 sound card | 显卡 graphics card | 无线网卡 wireless card | 无线 wireless wifi
网卡 network card | 驱动 driver | 硬盘 disk drive | 磁盘 disk | 分区 partition | 挂载 mount | 内核 kernel
桌面 desktop | 屏幕 screen | 分辨率 resolution | 键盘 keyboard | 鼠标 mouse | 打印机 printer | 蓝牙 bluetooth
电池 battery | 风扇 fan | 快捷键 shortcut hotkey | 按键 key keys | 热键 hotkey | 菜单 menu | 窗口 window
弹窗 popup dialog modal | 对话框 dialog | 标签 tag label tab | 图标 icon | 图片 image picture | 图表 chart
表格 table | 表单 form | 列表 list | 字段 field | 列 column | 行 row line | 单元格 cell | 标题 title heading
名称 name | 名字 name | 文件名 filename | 路径 path | 扩展名 extension | 后缀 suffix extension | 大写 uppercase
小写 lowercase | 大小写 case | 格式 format | 换行 newline line | 空格 space whitespace | 字体 font | 颜色 color colour
主题 theme | 背景 background | 样式 style | 动画 animation | 深色 dark | 暗色 dark | 时间戳 timestamp | 时间 time
日期 date | 时区 timezone | 时钟 clock | 定时 schedule timer | 消息 message | 通知 notification notify
提醒 reminder alert remind | 提示 hint prompt tip | 邮件 email mail | 邮箱 email | 短信 sms | 用户 user | 账号 account
账户 account | 登录 login log sign | 登陆 login | 注销 logout | 退出 exit quit logout | 注册 register signup
密码 password | 密钥 key secret | 证书 certificate | 签名 signature sign | 权限 permission | 角色 role | 令牌 token
会话 session | 支付 payment pay | 付款 payment | 退款 refund | 订单 order | 发票 invoice | 账单 bill billing
价格 price | 费用 cost | 货币 currency | 折扣 discount | 购物车 cart | 库存 inventory stock | 客户 customer client
项目 project | 任务 task job | 工作 work job | 进度 progress | 版本号 version | 版本 version | 分支 branch
提交 commit submit | 发布 release publish | 上线 launch deploy release | 部署 deploy | 环境 environment
变量 variable | 参数 parameter argument | 选项 option | 默认 default | 默认值 default | 配置 config configuration
命令 command | 命令行 command line cli | 终端 terminal | 脚本 script | 插件 plugin extension | 依赖 dependency
包 package | 库 library | 接口 interface api | 端口 port | 地址 address | 链接 link url | 网址 url | 域名 domain
代理 proxy agent | 浏览器 browser | 网页 page web | 页面 page | 网站 site website | 手机 phone mobile | 移动端 mobile
云端 cloud | 云 cloud | 本地 local | 远程 remote | 机器 machine | 服务 service | 集群 cluster | 节点 node
副本 replica | 主库 primary | 从库 replica | 缓存 cache | 内存 memory | 队列 queue | 线程 thread | 进程 process
锁 lock | 日志 log logs | 备份 backup | 快照 snapshot | 索引 index | 查询 query | 事务 transaction | 主键 primary key
数据 data | 数据库 database | 目录 directory folder | 文件夹 folder directory | 文件 file | 压缩 compress compression
解压 unzip extract decompress | 加密 encrypt encryption | 解密 decrypt | 编码 encoding encode | 解码 decode
解析 parse | 正则 regex | 字符 character | 字符串 string | 中文 chinese | 英文 english | 翻译 translate translation
语言 language | 数字 number | 数量 count number | 总数 total | 平均 average | 最大 maximum max largest
最小 minimum min smallest | 顺序 order | 随机 random | 精度 precision | 四舍五入 rounding round | 测试 test
单元测试 unit test | 不稳定 flaky unstable | 偶发 flaky intermittent | 覆盖率 coverage | 断言 assertion assert
代码 code | 函数 function | 方法 method | 类型 type | 对象 object | 模块 module | 组件 component | 结构 structure
外部 external outside | 内部 internal | 贡献者 contributor | 作者 author | 团队 team | 同事 colleague
第三方 third party | 问题 problem issue | 原因 reason cause | 方案 solution approach plan | 办法 way solution
规则 rule | 策略 strategy policy | 流程 process workflow | 步骤 step | 功能 feature | 需求 requirement | 效果 effect
结果 result | 状态 status state | 历史 history | 统一 consistent unify uniform | 自动 automatic automatically auto
手动 manual manually | 批量 batch bulk | 全部 all | 部分 part partial | 重试 retry | 超时 timeout
限流 rate limit throttle | 频率 frequency rate | 延迟 latency delay | 间隔 interval | 阈值 threshold | 预算 budget
模型 model | 训练 training train | 推理 inference | 提示词 prompt | 向量 vector embedding | 检索 retrieval search
推荐 recommend recommendation | 权重 weight | 评分 score rating | 排名 ranking rank | 标注 label annotation
数据集 dataset | 指标 metric | 图 graph | 树 tree | 边界 boundary edge border | 空指针 null pointer | 空值 null
类 class | 异步 async asynchronous
"""
#: A word adds at most so many English ones.
_MOST: Final = 3

TRANSLATIONS: Final[Mapping[str, tuple[str, ...]]] = {
    chinese: tuple(english)
    for chinese, *english in (entry.split() for line in _WORDS.strip().splitlines() for entry in line.split("|"))
}
_LONGEST: Final = sorted({*TRANSLATIONS, *(term for term in TERMS if not term.isascii())}, key=lambda word: -len(word))
_WORD: Final = re.compile("|".join(map(re.escape, _LONGEST)))
_HAN: Final = re.compile("[\u3400-\u4dbf\u4e00-\u9fff]")


def is_han(text: str) -> bool:
    """Return whether a text has a Chinese character."""
    return _HAN.search(text) is not None


def translate(text: str) -> list[Expansion]:
    """List what a question adds for sessions in the other script: synonyms of its terms, and its words in English.

    Worked example: 删除会话的快捷键 gives delete and remove for 删除, session for 会话, shortcut and hotkey for 快捷键.
    """
    found = {expansion.term: list(expansion.synonyms) for expansion in expand(text) if expansion.term.isascii()}
    for match in _WORD.finditer(text):
        found[match[0]] = [*TRANSLATIONS.get(match[0], ()), *TERMS.get(match[0], ())]
    latin = {term: list(dict.fromkeys(word for word in words if word.isascii())) for term, words in found.items()}
    return [Expansion(term, tuple(words[:_MOST])) for term, words in latin.items() if words]
