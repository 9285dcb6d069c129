/* See adapt_site.h. */

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "adapt_site.h"
#include "mpl.h"

#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <inttypes.h>
#include <link.h>
#include <string.h>

#define FORTRAN_LIBRARIES_MAX 4
#define FRAMES_MAX 8            /* from an entry point to the caller of its Fortran binding */
#define FNV_START UINT64_C(0xcbf29ce484222325)
#define FNV_FACTOR UINT64_C(0x100000001b3)

struct address_range {
    uintptr_t first, end;
};

static struct address_range own, fortran[FORTRAN_LIBRARIES_MAX];
static int fortran_libraries;

static bool is_in(struct address_range range, uintptr_t address)
{
    return address >= range.first && address < range.end;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static struct address_range range_of(const struct dl_phdr_info *info, const ElfW(Phdr) * part)
{
    uintptr_t first = (uintptr_t) (info->dlpi_addr + part->p_vaddr);
    return (struct address_range) { first, first + part->p_memsz };
}

static int note_library(struct dl_phdr_info *info, size_t size, void *unused)
{
    const char *name = base_name(info->dlpi_name);
    bool bindings = !strncmp(name, "libmpi", 6) && (strstr(name, "fort") || strstr(name, "f90"));

    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) * part = &info->dlpi_phdr[i];
        if (part->p_type != PT_LOAD || !(part->p_flags & PF_X))
            continue;
        struct address_range range = range_of(info, part);
        if (is_in(range, (uintptr_t) & note_library))
            own = range;
        else if (bindings && fortran_libraries < FORTRAN_LIBRARIES_MAX)
            fortran[fortran_libraries++] = range;
    }
    return 0;
}

void MPIR_Site_init(void)
{
    fortran_libraries = 0;
    dl_iterate_phdr(note_library, NULL);
}

bool MPIR_Site_is_own(uintptr_t address)
{
    return is_in(own, address);
}

bool MPIR_Site_is_fortran(uintptr_t address)
{
    for (int i = 0; i < fortran_libraries; i++) {
        if (is_in(fortran[i], address))
            return true;
    }
    return false;
}

uintptr_t MPIR_Site_unwind(uintptr_t address)
{
    void *frames[FRAMES_MAX];
    int n = backtrace(frames, FRAMES_MAX);

    for (int i = 1; i < n; i++) {
        uintptr_t frame = (uintptr_t) frames[i];
        if (!MPIR_Site_is_own(frame) && !MPIR_Site_is_fortran(frame))
            return frame;
    }
    return address;
}

/* ---- identities ---- */

static uint64_t add_bytes(uint64_t hash, const void *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        hash = (hash ^ ((const unsigned char *) bytes)[i]) * FNV_FACTOR;
    return hash;
}

/* Adds the build id, if the notes of the module hold one. */
static bool add_build_id(struct address_range notes, uint64_t * hash)
{
    const char *at = (const char *) notes.first, *end = (const char *) notes.end;

    while ((size_t) (end - at) >= sizeof(ElfW(Nhdr))) {
        const ElfW(Nhdr) * note = (const ElfW(Nhdr) *) at;
        const char *name = at + sizeof(*note);
        size_t name_bytes = (note->n_namesz + 3u) & ~(size_t) 3, bytes =
            (note->n_descsz + 3u) & ~(size_t) 3;
        if (name_bytes > (size_t) (end - name) || bytes > (size_t) (end - name) - name_bytes)
            return false;
        if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == sizeof("GNU") &&
            !memcmp(name, "GNU", 4)) {
            *hash = add_bytes(*hash, name + name_bytes, note->n_descsz);
            return true;
        }
        at = name + name_bytes + bytes;
    }
    return false;
}

struct search {
    uintptr_t address;
    uint64_t identity;
};

static int inspect_module(struct dl_phdr_info *info, size_t size, void *state)
{
    struct search *search = state;
    uint64_t hash = FNV_START, offset = search->address - info->dlpi_addr;
    bool inside = false, named = false;

    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) * part = &info->dlpi_phdr[i];
        inside |= part->p_type == PT_LOAD && is_in(range_of(info, part), search->address);
    }
    if (!inside)
        return 0;
    for (int i = 0; i < info->dlpi_phnum && !named; i++) {
        if (info->dlpi_phdr[i].p_type == PT_NOTE)
            named = add_build_id(range_of(info, &info->dlpi_phdr[i]), &hash);
    }
    if (!named) {
        /* the program itself has no name here */
        const char *name =
            *info->dlpi_name ? base_name(info->dlpi_name) : program_invocation_short_name;
        hash = add_bytes(hash, name, strlen(name));
    }
    search->identity = add_bytes(hash, &offset, sizeof(offset));
    return 1;
}

uint64_t MPIR_Site_identity(uintptr_t address)
{
    struct search search = {.address = address,.identity = address };

    dl_iterate_phdr(inspect_module, &search);
    return search.identity & ~MPIR_SITE_GIVEN;
}

void MPIR_Site_print(uintptr_t address, FILE * file)
{
    Dl_info module;

    if (dladdr((void *) address, &module) && module.dli_fname)
        fprintf(file, "%s+0x%" PRIxPTR, module.dli_fname, address - (uintptr_t) module.dli_fbase);
    else
        fprintf(file, "?");
}

void MPIR_Site_name(uintptr_t address, char *text, size_t bytes)
{
    Dl_info module;
    char offset[24];

    if (!dladdr((void *) address, &module) || !module.dli_fname) {
        snprintf(text, bytes, "?");
        return;
    }
    int length =
        snprintf(offset, sizeof(offset), "+0x%" PRIxPTR, address - (uintptr_t) module.dli_fbase);
    snprintf(text, bytes, "%.*s%s", (int) bytes - length - 1, base_name(module.dli_fname), offset);
}
