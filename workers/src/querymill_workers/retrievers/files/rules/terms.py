"""English words for the Chinese terms of programming, so that a Chinese question finds code written in English.

The table was written for this project: one meaning a line, the Chinese terms before the colon, the English after it.
"""

from typing import Final

_TABLE: Final = """
任务: task job
速率 频率: rate
限制 上限 限流: limit
重试: retry
退避: backoff
抖动: jitter
超时: timeout
时间限制: time limit
定时 调度 计划: schedule
定时任务: schedule crontab beat
周期: periodic interval
队列: queue
消息: message
消费者 消费: consumer consume
生产者: producer
发布 发送: publish send
接收: receive
确认: ack acknowledge
拒绝: reject
撤销 吊销: revoke
取消: cancel
终止 杀死: terminate kill
进程: process
线程: thread
协程: coroutine
工作进程 工作者: worker
并发: concurrency
异步: async
同步: sync
锁: lock
死锁: deadlock
事务: transaction
数据库: database
查询: query
索引: index
缓存: cache
连接池: connection pool
连接: connection connect
断开: disconnect close
重连: reconnect
会话: session
请求: request
响应 回复 应答: response reply
路由: route router
路径: path
参数: parameter argument
默认值: default
返回值: return result
结果: result
后端: backend
前端: frontend
服务器 服务端: server
客户端: client
中间件: middleware
依赖 注入: dependency inject
验证 校验: validate validation
认证 鉴权: authentication auth
授权 权限: authorization permission
令牌: token
密码: password
密钥: key secret
签名: sign signature
加密: encrypt
解密: decrypt
序列化: serialize serialization
反序列化: deserialize
编码: encode encoder
解码: decode
压缩: compress compression
解析 解析器: parse parser
格式: format
模板: template
渲染: render
配置 设置: config setting
环境变量: environment variable
日志: log logging
错误 报错: error
异常: exception
抛出: raise throw
捕获 处理: handle handler
警告: warning
调试: debug
测试: test
信号: signal
事件: event
回调: callback
钩子: hook
装饰器: decorator
插件: plugin
扩展: extension
注册: register
加载: load
导入: import
导出: export
启动 开始: start
停止: stop
关闭: close shutdown
重启: restart
初始化: init setup
清理 清除: clean cleanup clear
删除: delete remove
添加 增加: add
更新: update
创建 新建: create
读取: read
写入 保存 存储: write save store
文件: file
目录 文件夹: directory folder
上传: upload
下载: download
流式 数据流: stream
表单: form
头部 请求头: header
正文 请求体 主体: body
大小: size
长度: length
类型: type
字符串: string
数组 列表: list array
字典 映射: dict map
集合: set
数字: number
日期: date
时间: time
时区: timezone
延迟: delay latency
到期 过期: expire expiry due
优先级: priority
排序: sort order
过滤: filter
分页: page pagination
搜索 检索: search
匹配: match
替换: replace
合并: merge
拆分 分割: split
复制: copy
转换: convert
比较: compare
计算: compute calculate
统计: count statistics
随机: random
哈希: hash
唯一: unique
版本: version
升级 迁移: upgrade migrate
兼容: compatible compat
命令行: command cli
选项: option
子进程: subprocess child
心跳: heartbeat
监控: monitor
健康检查: health check
负载均衡: load balance
集群: cluster
节点: node
主机: host
端口: port
代理: proxy
地址 网址: address url
重定向: redirect
域名: domain
证书: certificate
跨域: cors
前缀: prefix
标签: tag
文档: document docs
模式 模型: schema model
字段: field
属性: attribute property
方法: method
函数: function
继承: inherit
接口: interface api
实例: instance
对象: object
生命周期: lifespan lifecycle
垃圾回收: gc garbage
内存: memory
泄漏: leak
性能: performance
"""

_BY_TERM: Final = {
    term: english.split()
    for line in _TABLE.strip().splitlines()
    for chinese, _, english in (line.partition(":"),)
    for term in chinese.split()
}
_LONGEST: Final = max(map(len, _BY_TERM))


def translated(query: str) -> list[str]:
    """List the English words for the Chinese terms of a request, in order, each once; [] if it has none.

    The longest term counts: 任务的时间限制 gives *task*, *time* and *limit*.
    """
    found: dict[str, None] = {}
    place = 0
    while place < len(query):
        sizes = range(min(_LONGEST, len(query) - place), 0, -1)
        term = next((query[place : place + size] for size in sizes if query[place : place + size] in _BY_TERM), "")
        found.update(dict.fromkeys(_BY_TERM.get(term, ())))
        place += len(term) or 1
    return list(found)


def is_chinese(query: str) -> bool:
    """Return whether a request has Chinese characters, so that code in English may share no word with it."""
    return any("\u4e00" <= character <= "\u9fff" for character in query)
