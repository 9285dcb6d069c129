/* See archive.h. */

#define _GNU_SOURCE             /* dlinfo, dladdr, RTLD_DEFAULT */

#include "archive.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

bool epop_archive_find(const char *name, char *path, size_t size)
{
    static const char *const endings[] = { "", ".epop", ".so" };
    struct stat file;

    for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
        /* with a slash, so that dlopen does not search the folders of libraries */
        int length = snprintf(path, size, "%s%s%s", strchr(name, '/') ? "" : "./", name,
                              endings[i]);
        if (length >= 0 && (size_t) length < size && stat(path, &file) == 0 &&
            S_ISREG(file.st_mode))
            return true;
    }
    return false;
}

/* ---- names that another library also defines ------------------------------------------------- */

/* An archive's references to its own global functions and variables are bound to the first
 * definition in the command, libc and MPI, if there is one: a program's `int error;` would refer to
 * libc's function. */

#if __ELF_NATIVE_CLASS == 64
#define SYMBOL_OF ELF64_R_SYM
#define BINDING_OF ELF64_ST_BIND
#else
#define SYMBOL_OF ELF32_R_SYM
#define BINDING_OF ELF32_ST_BIND
#endif

typedef struct {
    ElfW(Addr) base;
    const ElfW(Sym) * symbols;
    const char *names;
} symbol_table_t;

/* The foreign definition to which references to this symbol of the archive are bound; NULL: its
 * own. */
static const void *other_definition(const symbol_table_t * table, size_t number)
{
    const ElfW(Sym) * symbol = &table->symbols[number];

    if (number == 0 || symbol->st_shndx == SHN_UNDEF || BINDING_OF(symbol->st_info) != STB_GLOBAL)
        return NULL;
    const void *found = dlsym(RTLD_DEFAULT, table->names + symbol->st_name);
    return found == (const void *) (table->base + symbol->st_value) ? NULL : found;
}

static bool is_clash(const symbol_table_t * table, size_t number, char *why, size_t size)
{
    const void *other = other_definition(table, number);
    const char *name = table->names + table->symbols[number].st_name;
    Dl_info where;

    if (!other)
        return false;
    snprintf(why, size,
             "its global '%s' would be that of %s: rename it, make it static, or compile with"
             " -fvisibility=hidden", name, dladdr(other, &where) &&
             where.dli_fname ? where.dli_fname : "another library");
    return true;
}

/* In relocations of `bytes` bytes, each of `each` bytes, which begin with offset and info. */
static bool find_clash_in(const symbol_table_t * table, const void *relocations, size_t bytes,
                          size_t each, char *why, size_t size)
{
    for (size_t at = 0; relocations && each > 0 && at + each <= bytes; at += each) {
        const ElfW(Rel) * relocation = (const ElfW(Rel) *) ((const char *) relocations + at);
        if (is_clash(table, SYMBOL_OF(relocation->r_info), why, size))
            return true;
    }
    return false;
}

static bool find_clash(void *archive, char *why, size_t size)
{
    struct link_map *map;
    symbol_table_t table = { 0 };
    const void *general = NULL, *jumps = NULL;
    size_t general_bytes = 0, jumps_bytes = 0, each = sizeof(ElfW(Rela));

    if (dlinfo(archive, RTLD_DI_LINKMAP, &map) != 0)
        return false;
    table.base = map->l_addr;
    for (const ElfW(Dyn) * entry = map->l_ld; entry->d_tag != DT_NULL; entry++) {
        const void *address = (const void *) entry->d_un.d_ptr;
        if (entry->d_tag == DT_SYMTAB)
            table.symbols = address;
        else if (entry->d_tag == DT_STRTAB)
            table.names = address;
        else if (entry->d_tag == DT_RELA || entry->d_tag == DT_REL)
            general = address;
        else if (entry->d_tag == DT_RELASZ || entry->d_tag == DT_RELSZ)
            general_bytes = entry->d_un.d_val;
        else if (entry->d_tag == DT_JMPREL)
            jumps = address;
        else if (entry->d_tag == DT_PLTRELSZ)
            jumps_bytes = entry->d_un.d_val;
        else if (entry->d_tag == DT_PLTREL)
            each = entry->d_un.d_val == DT_RELA ? sizeof(ElfW(Rela)) : sizeof(ElfW(Rel));
    }
    if (!table.symbols || !table.names)
        return false;
    return find_clash_in(&table, general, general_bytes, each, why, size) ||
        find_clash_in(&table, jumps, jumps_bytes, each, why, size);
}

/* ---------------------------------------------------------------------------------------------- */

program_t *(*epop_archive_open(const char *path, char *why, size_t size)) (void)
{
    program_t *(*get) (void) = NULL;
    void *archive = dlopen(path, RTLD_NOW | RTLD_LOCAL);

    if (!archive) {
        snprintf(why, size, "it cannot be loaded as an archive (mpicc -shared -fPIC): %s",
                 dlerror());
        return NULL;
    }
    void *entry = dlsym(archive, "get_program");
    const int *abi = dlsym(archive, "epop_archive_abi");
    if (find_clash(archive, why, size))
        return NULL;
    if (!entry)
        snprintf(why, size, "it has no function get_program");
    else if (!abi)
        snprintf(why, size, "its get_program was not compiled with epop.h");
    else if (*abi != EPOP_ABI)
        snprintf(why, size, "it was compiled with an epop.h of version %d, and this driver is of"
                 " version %d: compile it again", *abi, EPOP_ABI);
    else
        memcpy(&get, &entry, sizeof(get));
    return get;
}
