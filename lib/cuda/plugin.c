/* plugin.c - the CUDA plugin: the one function it exports. */
#include "cuda/device.h"

static const char *about(const struct embi_cuda_device *device)
{
    return device->about;
}

embi_cuda_plugin_fn embi_cuda_plugin;

__attribute__((visibility("default"))) const struct embi_cuda *embi_cuda_plugin(void)
{
    static const struct embi_cuda cuda = {.abi = EMBI_CUDA_ABI,
                                          .size = sizeof cuda,
                                          .count = embi_cuda_device_count,
                                          .open = embi_cuda_device_open,
                                          .close = embi_cuda_device_close,
                                          .about = about,
                                          .room = embi_cuda_device_room,
                                          .table_open = embi_cuda_table_open,
                                          .table_close = embi_cuda_table_close,
                                          .gather = embi_cuda_table_gather,
                                          .gather_sum = embi_cuda_table_gather_sum,
                                          .pool = embi_cuda_table_pool,
                                          .search = embi_cuda_table_search,
                                          .draw = embi_cuda_device_draw,
                                          .scatter = embi_cuda_device_scatter};
    return &cuda;
}
