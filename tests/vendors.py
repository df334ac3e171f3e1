"""A node and a pod of each vendor, and the rows that its device plugin gets."""

XPUS = '[{"id":"x0","count":4,"devmem":98304,"devcore":100,"type":"XPU","health":true}]'
NPUS = (
    '[{"id":"npu0","count":4,"devmem":32768,"devcore":20,"type":"N","health":true},'
    '{"id":"npu1","index":1,"count":4,"devmem":32768,"devcore":20,"health":true}]'
)
VASTAI = (
    '[{"id":"va0","count":1,"type":"Vastai","health":true},'
    '{"id":"va1","index":1,"count":1,"type":"Vastai","health":true}]'
)
DRS = (
    '{"devices":[{"index":"0","minor":"0","capacity":6}],'
    '"profiles":{"1g.6gb":"0","3g.20gb":"1","6g.40gb":"2"}}'
)
DCUS = "DCU-0,4,65520,100,Z100L,0,true:"

AMD = (
    '[{"id":"gpu-0","count":10,"devmem":196592,"devcore":304,'
    '"type":"AMD Instinct MI300X","health":true}]'
)
SGPUS = (
    '[{"uuid":"GPU-m","model":"MXC500","totalDevCount":16,"totalCompute":100,'
    '"totalVRam":65536,"healthy":true}]'
)

Shown = tuple[str, dict[str, int], dict[str, str], dict[str, int], str]
"""The kind's word, the node's capacity and annotations, the limits of the pod's only
container, and the rows on node ``n1``."""

ROWS: dict[str, Shown] = {
    "a part of an MLU": (
        "MLU",
        {
            "cambricon.com/vmlu": 200,
            "cambricon.com/mlu.smlu.vcore": 200,
            "cambricon.com/mlu.smlu.vmemory": 192,
        },
        {},
        {"cambricon.com/vmlu": 1, "cambricon.com/mlu.smlu.vmemory": 8},
        "n1-cambricon-mlu-0,MLU,2048,100:;",
    ),
    "a part of a DCU": (
        "DCU",
        {"hygon.com/dcunum": 4},
        {"hami.io/node-dcu-register": DCUS},
        {"hygon.com/dcunum": 1, "hygon.com/dcumem": 2000, "hygon.com/dcucores": 60},
        "DCU-0,DCU,2000,60:;",
    ),
    "a part of an AMD card": (
        "AMD",
        {"amd.com/gpu": 10},
        {"hami.io/node-amd-register": AMD},
        {"amd.com/gpu": 1, "amd.com/gpumem": 4096, "amd.com/gpucores": 25},
        "gpu-0,AMD Instinct MI300X,4096,76:;",
    ),
    "a part of a MetaX card": (
        "Metax-SGPU",
        {"metax-tech.com/sgpu": 16},
        {"metax-tech.com/node-gpu-devices": SGPUS},
        {
            "metax-tech.com/sgpu": 1,
            "metax-tech.com/vmemory": 4,
            "metax-tech.com/vcore": 30,
        },
        "GPU-m,Metax-SGPU,4096,30:;",
    ),
    "whole MetaX cards": (
        "Metax-GPU",
        {"metax-tech.com/gpu": 2},
        {},
        {"metax-tech.com/gpu": 2},
        "n1-metax-0,Metax-GPU,65536,100:n1-metax-1,Metax-GPU,65536,100:;",
    ),
    "whole GCUs": (
        "GCU",
        {"enflame.com/gcu": 2},
        {},
        {"enflame.com/gcu": 2},
        "n1-GCU-0,GCU,100,100:n1-GCU-1,GCU,100,100:;",
    ),
    "a profile by slots": (
        "Enflame",
        {"enflame.com/drs-gcu": 6},
        {"enflame.com/gcu-drs-capacity": DRS},
        {"enflame.com/drs-gcu": 3},
        "n1-enflame-drs-0,Enflame,20480,50:;",
    ),
    "a profile by memory": (
        "Enflame",
        {"enflame.com/drs-gcu": 6},
        {"enflame.com/gcu-drs-capacity": DRS},
        {"enflame.com/gcu-memory": 30},
        "n1-enflame-drs-0,Enflame,40960,100:;",
    ),
    "Neuron devices": (
        "AWSNeuron",
        {"aws.amazon.com/neuron": 8, "aws.amazon.com/neuroncore": 16},
        {},
        {"aws.amazon.com/neuron": 4},
        "".join(f"n1-AWSNeuron-{index},AWSNeuron,0,3:" for index in range(4)) + ";",
    ),
    "a Neuron core": (
        "AWSNeuron",
        {"aws.amazon.com/neuron": 1, "aws.amazon.com/neuroncore": 2},
        {},
        {"aws.amazon.com/neuroncore": 1},
        "n1-AWSNeuron-0,AWSNeuron,0,1:;",
    ),
    "whole MThreads cards": (
        "Mthreads",
        {
            "mthreads.com/vgpu": 200,
            "mthreads.com/sgpu-core": 32,
            "mthreads.com/sgpu-memory": 192,
        },
        {},
        {"mthreads.com/vgpu": 2},
        "n1-mthreads-0,Mthreads,49152,16:n1-mthreads-1,Mthreads,49152,16:;",
    ),
    "whole XPUs": (
        "kunlun",
        {"kunlunxin.com/xpu": 8},
        {},
        {"kunlunxin.com/xpu": 2},
        "n1-kunlun-0,kunlun,98304,100:n1-kunlun-1,kunlun,98304,100:;",
    ),
    "half an XPU": (
        "XPU",
        {"kunlunxin.com/vxpu": 4},
        {"hami.io/node-register-xpu": XPUS},
        {"kunlunxin.com/vxpu": 1, "kunlunxin.com/vxpu-memory": 30_000},
        "x0,XPU,49152,50:;",
    ),
    "Vastai cards": (
        "Vastai",
        {"vastaitech.com/va": 2},
        {"hami.io/node-va-register": VASTAI},
        {"vastaitech.com/va": 2},
        "va0,Vastai,0,0:va1,Vastai,0,0:;",
    ),
    "a template of an NPU": (
        "Ascend910B4",
        {"huawei.com/Ascend910B4": 8},
        {"hami.io/node-register-Ascend910B4": NPUS},
        {"huawei.com/Ascend910B4": 1, "huawei.com/Ascend910B4-memory": 5000},
        "npu0,Ascend910B4,8192,0:;",
    ),
    "whole NPUs": (
        "Ascend910B4",
        {"huawei.com/Ascend910B4": 8},
        {"hami.io/node-register-Ascend910B4": NPUS},
        {"huawei.com/Ascend910B4": 2},
        "npu0,Ascend910B4,32768,0:npu1,Ascend910B4,32768,0:;",
    ),
}
