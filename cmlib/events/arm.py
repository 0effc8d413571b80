"""Events that have one code on every Arm core: the common events of the PMU's architecture."""

# In the order of their codes, from 0x00 (Arm Architecture Reference Manual, "Common event numbers").
_FIRST = (
    "sw_incr l1i_cache_refill l1i_tlb_refill l1d_cache_refill l1d_cache l1d_tlb_refill ld_retired st_retired "
    "inst_retired exc_taken exc_return cid_write_retired pc_write_retired br_immed_retired br_return_retired "
    "unaligned_ldst_retired br_mis_pred cpu_cycles br_pred mem_access l1i_cache l1d_cache_wb l2d_cache "
    "l2d_cache_refill l2d_cache_wb bus_access memory_error inst_spec ttbr_write_retired bus_cycles chain "
    "l1d_cache_allocate l2d_cache_allocate br_retired br_mis_pred_retired stall_frontend stall_backend l1d_tlb "
    "l1i_tlb l2i_cache l2i_cache_refill l3d_cache_allocate l3d_cache_refill l3d_cache l3d_cache_wb l2d_tlb_refill "
    "l2i_tlb_refill l2d_tlb l2i_tlb"
)
COMMON_EVENTS = dict(enumerate(_FIRST.split()))
"""By code, the name that perf gives the event."""
