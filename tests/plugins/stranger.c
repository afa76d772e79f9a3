/* stranger.c - a shared object that is no plugin. */
int stranger(void);

int stranger(void)
{
    return 1;
}
