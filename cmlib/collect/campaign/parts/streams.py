"""Sample streams of the CPU programs."""

from cmlib.collect.campaign.run import Part, Planned
from cmlib.collect.samples import record_stream
from cmlib.collect.workloads.cases import cases
from cmlib.errors import CmlibError

_SECONDS = 8.0


def _plan(setting):
    missing = {case.name for case in _missing(setting)}
    return [
        Planned(case.name, 1, int(case.name in missing), _SECONDS / 60 * (case.name in missing))
        for case in cases()
    ]


def _record(setting):
    for case in _missing(setting):
        try:
            record_stream(case.name, case.to_record(), folder=setting.data / "samples")
        except CmlibError as error:
            yield case.name, error
        else:
            yield case.name, None


def _missing(setting):
    return [
        case for case in cases() if not (setting.data / "samples" / case.name / "hardware-00.json").exists()
    ]


STREAMS = Part("streams", "07", "35 cases of eight CPU programs, a sample per million cycles", _plan, _record)
