"""What each vendor demands of a request, by the shipped kinds."""

import pytest

from extender.core.claims import ResourceClaim
from extender.core.company import Trait
from extender.core.kinds import RequestRule
from extender.core.pod_request import NO_REQUEST, ContainerRequest, Sharing
from extender.core.profiles import ProfileWish
from extender.core.request_rules import REQUEST_RULES
from extender.core.requests import container_request
from extender.errors import BadQuantity
from tests.shipped import SHIPPED


def whole(count: int = 1, *, cores: int = 100) -> ContainerRequest:
    """Ask for all of each card."""
    return ContainerRequest(count, None, 100, cores)


def mib(memory_mib: int, *, count: int = 1, cores: int = 0) -> ContainerRequest:
    """Ask for MiB."""
    return ContainerRequest(count, memory_mib, 0, cores)


def xpu(memory_mib: int, cores: int, *, count: int = 1) -> ContainerRequest:
    """Ask for a part of a card that is cut into equal ones."""
    return ContainerRequest(count, memory_mib, 0, cores, Sharing.EQUALLY)


def drs(wish: ProfileWish) -> ContainerRequest:
    """Ask for a profile of one card."""
    return ContainerRequest(1, 0, 0, 0, profile=wish)


def neuron(count: int, cores: int) -> ContainerRequest:
    """Ask for so many cores of each device."""
    return ContainerRequest(count, 0, 0, cores, Sharing.BY_SLOT)


ALONE = ContainerRequest(2, 0, 0, 0, Sharing.BY_SLOT)

ASKED = {
    "cambricon: 256 MiB a unit, all cores": (
        "MLU",
        ResourceClaim(1, 8),
        mib(2048, cores=100),
    ),
    "cambricon: cores": ("MLU", ResourceClaim(1, 8, cores=20), mib(2048, cores=20)),
    "cambricon: no memory is the whole card": ("MLU", ResourceClaim(1), whole()),
    "hygon: MiB, all cores": ("DCU", ResourceClaim(1, 2000), mib(2000, cores=100)),
    "hygon: cores": ("DCU", ResourceClaim(1, 2000, cores=60), mib(2000, cores=60)),
    "enflame: whole cards": ("GCU", ResourceClaim(2), whole(2)),
    "mthreads: a listed size": ("Mthreads", ResourceClaim(1, 32), mib(16_384)),
    "mthreads: cores are sixteenths": (
        "Mthreads",
        ResourceClaim(1, 32, cores=8),
        mib(16_384, cores=8),
    ),
    "mthreads: cores are cut at a card's": (
        "Mthreads",
        ResourceClaim(1, 96, cores=90),
        mib(49_152, cores=16),
    ),
    "mthreads: no memory is the whole card": (
        "Mthreads",
        ResourceClaim(1),
        whole(cores=16),
    ),
    "mthreads: memory of 0 as well": (
        "Mthreads",
        ResourceClaim(1, 0, cores=3),
        whole(cores=16),
    ),
    "mthreads: several are whole": ("Mthreads", ResourceClaim(2), whole(2, cores=16)),
    "mthreads: what the webhook writes is all of them": (
        "Mthreads",
        ResourceClaim(2, 192, cores=32),
        whole(2, cores=16),
    ),
    "mthreads: less is raised to all of them": (
        "Mthreads",
        ResourceClaim(2, 64, cores=8),
        whole(2, cores=16),
    ),
    "metax: whole cards": ("Metax-GPU", ResourceClaim(3), whole(3)),
    "metax sgpu: MiB, all cores": (
        "Metax-SGPU",
        ResourceClaim(1, 4096),
        mib(4096, cores=100),
    ),
    "kunlun: whole cards": ("kunlun", ResourceClaim(4), whole(4)),
    "kunlun vxpu: a quarter": ("XPU", ResourceClaim(1, 24_576), xpu(24_576, 25)),
    "kunlun vxpu: raised to a quarter": ("XPU", ResourceClaim(1, 1), xpu(24_576, 25)),
    "kunlun vxpu: raised to a half": (
        "XPU",
        ResourceClaim(1, 24_577),
        xpu(49_152, 50),
    ),
    "kunlun vxpu: raised to a card": (
        "XPU",
        ResourceClaim(1, 49_153),
        xpu(98_304, 100),
    ),
    "kunlun vxpu: no memory is a card": (
        "XPU",
        ResourceClaim(2),
        xpu(98_304, 100, count=2),
    ),
    "vastai: cards alone": ("Vastai", ResourceClaim(2), ALONE),
    "biren: cards alone": ("Biren", ResourceClaim(2), ALONE),
    "iluvatar: 256 MiB a unit": (
        "MR-V100",
        ResourceClaim(1, 64, cores=30),
        mib(16_384, cores=30),
    ),
    "iluvatar: no cores": ("MR-V100", ResourceClaim(1, 64), mib(16_384)),
    "iluvatar: several have all cores": (
        "BI-V150",
        ResourceClaim(2, 64, cores=30),
        mib(16_384, count=2, cores=100),
    ),
    "iluvatar: what the webhook writes is all of them": (
        "BI-V150",
        ResourceClaim(2, 64, cores=200),
        mib(16_384, count=2, cores=100),
    ),
    "ascend: a template": ("Ascend910B4", ResourceClaim(1, 8192), mib(8192)),
    "ascend: raised to a template": ("Ascend910B4", ResourceClaim(1, 5000), mib(8192)),
    "ascend: raised to the next": ("Ascend910B4", ResourceClaim(1, 8193), mib(16_384)),
    "ascend: raised to the whole device": (
        "Ascend910B4",
        ResourceClaim(1, 20_000),
        mib(32_768),
    ),
    "ascend: all that the chip has is all that it offers": (
        "Ascend310P",
        ResourceClaim(1, 24_576),
        mib(21_527),
    ),
    "ascend: no memory is the whole device": (
        "Ascend310P",
        ResourceClaim(1),
        mib(21_527),
    ),
    "ascend: several whole devices": (
        "Ascend910B3",
        ResourceClaim(4),
        mib(65_536, count=4),
    ),
    "ascend: in software, what is named": (
        "Ascend910B4",
        ResourceClaim(1, 5000, cores=30, shares_in_software=True),
        mib(5000, cores=30),
    ),
    "ascend: two are a module": ("Ascend910C", ResourceClaim(2), mib(65_536, count=2)),
    "amd: a part of each card's compute units": (
        "AMD",
        ResourceClaim(2, 4096, cores=25),
        ContainerRequest(2, 4096, 0, 25, cores_of_card=True),
    ),
    "amd: all of a card where nothing is named": (
        "AMD",
        ResourceClaim(1),
        ContainerRequest(1, None, 100, 100, cores_of_card=True),
    ),
    "metax sgpu: an online pod takes no cores": (
        "Metax-SGPU",
        ResourceClaim(1, 4096, cores=60, app_class=Trait.ONLINE),
        ContainerRequest(1, 4096, 0, 0, Sharing.BY_MEMORY),
    ),
    "metax sgpu: an offline pod takes what it names": (
        "Metax-SGPU",
        ResourceClaim(1, 4096, cores=60, app_class=Trait.OFFLINE),
        mib(4096, cores=60),
    ),
    "enflame drs: slots of one card": (
        "Enflame",
        ResourceClaim(3),
        drs(ProfileWish(3)),
    ),
    "enflame drs: memory alone": (
        "Enflame",
        ResourceClaim(memory=20),
        drs(ProfileWish(memory=20)),
    ),
    "enflame drs: memory and cores": (
        "Enflame",
        ResourceClaim(memory=20_480, cores=40),
        drs(ProfileWish(memory=20_480, core_percent=40)),
    ),
    "enflame drs: 0 of all": ("Enflame", ResourceClaim(memory=0, cores=0), NO_REQUEST),
    "aws neuron: devices are whole": ("AWSNeuron", ResourceClaim(4), neuron(4, 2)),
    "aws neuron: one core is half a device": (
        "AWSNeuron",
        ResourceClaim(cores=1),
        neuron(1, 1),
    ),
    "aws neuron: two cores are a device": (
        "AWSNeuron",
        ResourceClaim(cores=2),
        neuron(1, 2),
    ),
    "aws neuron: eight cores are four devices": (
        "AWSNeuron",
        ResourceClaim(cores=8),
        neuron(4, 2),
    ),
    "aws neuron: no cores": ("AWSNeuron", ResourceClaim(cores=0), NO_REQUEST),
}


@pytest.mark.parametrize(("word", "claim", "expected"), ASKED.values(), ids=ASKED)
def test_claim_asks_for(
    word: str, claim: ResourceClaim, expected: ContainerRequest
) -> None:
    """A rule raises, completes or keeps what is named."""
    assert container_request(claim, SHIPPED[word], "train") == expected


REFUSED = {
    "enflame drs: memory beside slots": (
        "Enflame",
        ResourceClaim(3, 20),
        (
            "enflame.com/gcu-memory: 20 is not allowed beside enflame.com/drs-gcu, "
            "which names the profile"
        ),
    ),
    "enflame drs: more cores than a card": (
        "Enflame",
        ResourceClaim(cores=101),
        "enflame.com/gcu-core: 101 is not at most 100",
    ),
    "enflame drs: memory below 0": (
        "Enflame",
        ResourceClaim(memory=-1),
        (
            "enflame.com/gcu-memory: -1 is not in the range 0 to 2147483647; the unit "
            "is GB, or MiB where it is far above the largest profile"
        ),
    ),
    "aws neuron: cores beside devices": (
        "AWSNeuron",
        ResourceClaim(1, cores=2),
        (
            "aws.amazon.com/neuroncore: 2 is not allowed beside aws.amazon.com/neuron: "
            "devices come with all cores"
        ),
    ),
    "aws neuron: an odd number of cores": (
        "AWSNeuron",
        ResourceClaim(cores=3),
        "aws.amazon.com/neuroncore: 3 is not 1, or a multiple of 2: a device has 2",
    ),
    "aws neuron: fewer cores than none": (
        "AWSNeuron",
        ResourceClaim(cores=-1),
        "aws.amazon.com/neuroncore: -1 is not 0 or more",
    ),
    "amd: no cores at all": (
        "AMD",
        ResourceClaim(1, 1000, cores=0),
        "amd.com/gpucores: 0 is not a percentage from 1 to 100",
    ),
    "amd: more cores than a card has": (
        "AMD",
        ResourceClaim(2, 1000, cores=101),
        "amd.com/gpucores: 101 is not a percentage from 1 to 100",
    ),
    "metax sgpu: several cards for an online pod": (
        "Metax-SGPU",
        ResourceClaim(2, app_class=Trait.ONLINE),
        (
            "metax-tech.com/sgpu: 2 is not 1, all that metax-tech.com/sgpu-app-class "
            "allows"
        ),
    ),
    "metax sgpu: several cards for an offline pod": (
        "Metax-SGPU",
        ResourceClaim(2, app_class=Trait.OFFLINE),
        "metax-tech.com/sgpu: 2 is not 1",
    ),
    "mthreads: a size that is not listed": (
        "Mthreads",
        ResourceClaim(1, 5),
        (
            "mthreads.com/sgpu-memory: 5 is not one of 2, 4, 8, 16, 32, 64, 96; the "
            "unit is 512 MiB"
        ),
    ),
    "mthreads: more than all cards": (
        "Mthreads",
        ResourceClaim(2, 193),
        "mthreads.com/sgpu-memory: 193 is not at most 192, all of 2 cards",
    ),
    "mthreads: more cores than all cards": (
        "Mthreads",
        ResourceClaim(2, cores=33),
        "mthreads.com/sgpu-core: 33 is not at most 32, all of 2 cards",
    ),
    "kunlun: a count that is not handed out": (
        "kunlun",
        ResourceClaim(3),
        "kunlunxin.com/xpu: 3 is not one of 1, 2, 4, 8",
    ),
    "kunlun vxpu: more than a card": (
        "XPU",
        ResourceClaim(1, 98_305),
        "kunlunxin.com/vxpu-memory: 98305 is not at most 98304, all of a device",
    ),
    "ascend: more than a chip": (
        "Ascend310P",
        ResourceClaim(1, 24_577),
        "huawei.com/Ascend310P-memory: 24577 is not at most 24576, all of a device",
    ),
    "ascend: more than a chip in software": (
        "Ascend310P",
        ResourceClaim(1, 24_577, shares_in_software=True),
        "huawei.com/Ascend310P-memory: 24577 is not at most 24576, all of a device",
    ),
    "ascend: cores without the annotation": (
        "Ascend910B4",
        ResourceClaim(1, 8192, cores=30),
        (
            "huawei.com/Ascend910B4-core: 30 is not allowed without pod annotation "
            "huawei.com/vnpu-mode: hami-core"
        ),
    ),
    "ascend: several parts": (
        "Ascend910B4",
        ResourceClaim(2, 8192),
        "huawei.com/Ascend910B4-memory: 8192 is not all memory of a device: 2 of them",
    ),
    "ascend: half a module": (
        "Ascend910C",
        ResourceClaim(1),
        "huawei.com/Ascend910C: 1 is not even: two are one module, so ask for 2",
    ),
    "ascend: a module and a half": (
        "Ascend910C",
        ResourceClaim(3),
        "huawei.com/Ascend910C: 3 is not even: two are one module, so ask for 4",
    ),
}


@pytest.mark.parametrize(("word", "claim", "named"), REFUSED.values(), ids=REFUSED)
def test_claim_is_refused_by_name(word: str, claim: ResourceClaim, named: str) -> None:
    """The error names the container, the resource and the amount."""
    with pytest.raises(BadQuantity) as refused:
        container_request(claim, SHIPPED[word], "train")
    assert str(refused.value).startswith(f"container 'train': {named}")


def test_unit_is_told_in_the_words_of_the_kind() -> None:
    """A number that is far too large was meant in another unit."""
    for word, unit, written in (
        ("MLU", "256 MiB", 32),
        ("Metax-SGPU", "GiB, or bytes with a suffix", 8),
        ("DCU", "MiB", 8192),
    ):
        with pytest.raises(BadQuantity) as refused:
            container_request(ResourceClaim(1, 8 * 2**30), SHIPPED[word], "train")
        expected = f"the unit is {unit}, so 8 GiB is written {written}"
        assert str(refused.value).endswith(expected)


def test_every_rule_has_its_function() -> None:
    """A rule that is named in the data and unknown to the code would be no rule."""
    assert set(REQUEST_RULES) == set(RequestRule)
