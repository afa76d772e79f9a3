# Makefile - builds build/embtool and libemb (static and shared), and runs every check.
#
#   make                 the program and the library
#   make deps            what that needs, by apt (deps-test: what the checks need)
#   make check           all tests; also check-unit -kern -cuda -cli -cases -golden -docs -install -peers -cost, lint
#   make check-fuzz      the fuzz targets, FUZZ_SECONDS each (make fuzz builds them, with clang)
#   make SAN=asan check  the same under AddressSanitizer and UBSan (SAN=tsan: ThreadSanitizer)
#   make coverage        lines that the tests reach, by file (COV=1: a build that counts them)
#   make check-gpu       the same answers with a GPU, where there is one; make bench-gpu: how fast kernels are on it
#   make metrics         lengths of functions and files, and share of comments, by layer
#   make bench           timings beside other libraries and the machine's limits (CELL=NAME: of one cell);
#                        make bench-peers installs those libraries, for that alone
#   make install         into $(DESTDIR)$(prefix); make uninstall takes the same files away
#
# WERROR=1 turns warnings into errors, as CI does.

prefix       ?= /usr/local
exec_prefix   = $(prefix)
bindir        = $(exec_prefix)/bin
libdir        = $(exec_prefix)/lib
includedir    = $(prefix)/include
datarootdir   = $(prefix)/share
datadir       = $(datarootdir)
mandir        = $(datarootdir)/man
pkgconfigdir  = $(libdir)/pkgconfig
bashcompdir   = $(datadir)/bash-completion/completions
zshcompdir    = $(datadir)/zsh/site-functions
fishcompdir   = $(datadir)/fish/vendor_completions.d

SAN    ?=
COV    ?=
BUILD  ?= build$(if $(SAN),-$(SAN))$(if $(COV),-cov)
V      ?= 0
PYTHON ?= python3
SUDO   := $(if $(filter 0,$(shell id -u)),,sudo)

CC     ?= cc
FUZZ_CC = $(firstword $(shell command -v clang-14 clang))
ifeq ($(SAN),fuzz)
CC     := $(FUZZ_CC)
OPT    ?= -O1 -g
endif
CSTD   := -std=c11 -D_GNU_SOURCE
WARN   := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wundef -Wvla \
          -Wconversion -Wno-sign-conversion $(if $(WERROR),-Werror)
OPT    ?= $(if $(COV),-O1,-O3) -g
# Every result must have the same bits on every machine: no contraction into FMA, no -march. errno of sqrt is
# never looked at, and keeps loops from being vectorised.
EXACT  := -ffp-contract=off -fno-math-errno

san_asan := -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer
san_tsan := -fsanitize=thread
san_fuzz := $(san_asan) -fsanitize=fuzzer-no-link
# Threads count the same lines, and gcov is run from anywhere.
cov_flags := --coverage -fprofile-update=atomic -fprofile-abs-path
SANFLAGS := $(if $(SAN),$(san_$(SAN))) $(if $(COV),$(cov_flags))

ZLIB_CFLAGS := $(shell pkg-config --cflags zlib 2>/dev/null)
ZLIB_LIBS   := $(or $(shell pkg-config --libs zlib 2>/dev/null),-lz)
# Patterns and characters, for splitting text as tokenizers do.
TEXT_CFLAGS := $(shell pkg-config --cflags libpcre2-8 libutf8proc 2>/dev/null)
TEXT_LIBS   := $(or $(shell pkg-config --libs libpcre2-8 libutf8proc 2>/dev/null),-lpcre2-8 -lutf8proc)

# OpenBLAS goes into a plugin that is loaded when it is first needed; without it there is no plugin.
BLAS_CFLAGS := $(shell pkg-config --cflags openblas 2>/dev/null)
BLAS_LIBS   := $(or $(shell pkg-config --libs openblas 2>/dev/null),-lopenblas)
have_blas   := $(shell echo 'int main(void) { openblas_set_num_threads(1); return 0; }' | \
                 $(CC) $(BLAS_CFLAGS) -include cblas.h -xc - -o /dev/null $(BLAS_LIBS) 2>/dev/null && echo yes)

# libcurl likewise, for files on servers.
CURL_CFLAGS := $(shell pkg-config --cflags libcurl 2>/dev/null)
CURL_LIBS   := $(or $(shell pkg-config --libs libcurl 2>/dev/null),-lcurl)
have_curl   := $(shell echo 'int main(void) { return curl_global_init(0); }' | \
                 $(CC) $(CURL_CFLAGS) -include curl/curl.h -xc - -o /dev/null $(CURL_LIBS) 2>/dev/null && echo yes)

override CFLAGS += $(CSTD) $(OPT) $(EXACT) $(WARN) $(SANFLAGS) -fvisibility=hidden -fPIC -pthread
CPPFLAGS += -Ilib $(ZLIB_CFLAGS) $(TEXT_CFLAGS)
LDLIBS   := $(ZLIB_LIBS) $(TEXT_LIBS) -pthread -lm -ldl

# The kernels of the CUDA plugin want nvcc, and nothing else of the toolkit: the driver is opened at run time.
NVCC      ?= $(shell command -v nvcc 2>/dev/null)
have_nvcc := $(if $(NVCC),$(shell $(NVCC) --version >/dev/null 2>&1 && echo yes))
# Those of these that this nvcc knows.
CUDA_SMS  ?= $(patsubst sm_%,%,$(filter $(addprefix sm_,80 86 89 90 100),$(shell $(NVCC) --list-gpu-code)))
# As exact as EXACT, in nvcc's words.
NVCCFLAGS  = -std=c++17 -O3 -fmad=false -ftz=false -prec-div=true -prec-sqrt=true --threads 0 \
             $(if $(WERROR),-Werror all-warnings) $(foreach s,$(CUDA_SMS),-gencode arch=compute_$s,code=sm_$s) \
             -gencode arch=compute_$(firstword $(CUDA_SMS)),code=compute_$(firstword $(CUDA_SMS))

# The version is said in emb.h, once. The soname has what changes with the library's interface: the first number, and
# while that is 0, the second.
version   := $(shell sed -n 's/^.define EMB_VERSION "\(.*\)"/\1/p' lib/emb.h)
numbers   := $(subst ., ,$(version))
soversion := $(patsubst 0,0.$(word 2,$(numbers)),$(firstword $(numbers)))

lib_src := $(filter-out lib/blas/% lib/http/% lib/cuda/%,$(wildcard lib/*/*.c))
cmd_src := $(wildcard cmd/*.c)
gen_src := $(wildcard cmd/gen/*.c)
lib_obj := $(lib_src:%.c=$(BUILD)/%.o)
plugin_obj := $(patsubst %.c,$(BUILD)/%.o,$(wildcard lib/blas/*.c lib/http/*.c lib/cuda/*.c))
cmd_obj := $(cmd_src:%.c=$(BUILD)/%.o)
gen_obj := $(gen_src:%.c=$(BUILD)/%.o)

ifeq ($(shell uname -m),x86_64)
$(BUILD)/lib/num/kern_avx2.o $(patsubst %,$(BUILD)/lib/num/%_x86.o,blocks fields lines philox): CFLAGS += -mavx2 -mfma -mf16c
$(BUILD)/lib/num/bf16_avx512.o: CFLAGS += -mavx2 -mfma -mf16c -mavx512f -mavx512bw -mavx512dq -mavx512vl -mavx512bf16
$(BUILD)/lib/num/bf16_amx.o: CFLAGS += -mavx2 -mamx-tile -mamx-bf16
$(patsubst %,$(BUILD)/lib/num/%_avx512.o,fields kern philox): CFLAGS += -mavx2 -mfma -mf16c -mbmi -mbmi2 -mavx512f \
    -mavx512bw -mavx512dq -mavx512vl
endif

# Plugins that there are, and those that this build makes.
every_plugin := $(patsubst %,$(BUILD)/lib/embtool/libemb-%.so,blas http cuda)
plugins := $(if $(have_blas),$(filter %-blas.so,$(every_plugin))) $(if $(have_curl),$(filter %-http.so,$(every_plugin))) \
           $(if $(have_nvcc),$(filter %-cuda.so,$(every_plugin)))
$(BUILD)/lib/blas/%.o: CPPFLAGS += $(BLAS_CFLAGS)
$(BUILD)/lib/http/%.o: CPPFLAGS += $(CURL_CFLAGS)

# One man page for the program and one a command; each command has its page in docs/commands (the lint looks).
pages   := embtool.1 $(patsubst docs/commands/%.md,embtool-%.1,$(wildcard docs/commands/*.md))
scripts := bash zsh fish
made    := $(BUILD)/embtool $(BUILD)/libemb.so $(plugins) $(pages:%=$(BUILD)/man/%) $(scripts:%=$(BUILD)/completion/%)

say = @$(if $(filter 0,$(V)),echo '  $(1) $(2)',true)
run = $(if $(filter 0,$(V)),@)

.DELETE_ON_ERROR:

.PHONY: all always
all: $(made)
	@$(BUILD)/embtool --version

# The program finds its table and its plugins from where it lies itself, so a tree that is moved, or staged under
# DESTDIR, works. Only a layout in which these ways are others changes the program, whatever the prefix.
way = $(shell realpath -ms --relative-to='$(bindir)' '$(1)')
ways := -DEMBTOOL_DATA='"$(call way,$(datadir)/embtool)"' -DEMBTOOL_PLUGINS='"$(call way,$(libdir)/embtool)"'
placed := $(BUILD)/cmd/common.o $(BUILD)/cmd/places.o
$(placed): CPPFLAGS += $(ways)
$(placed): $(BUILD)/layout
$(BUILD)/layout: always
	@mkdir -p $(@D)
	@echo $(ways) | cmp -s - $@ || echo $(ways) >$@

$(BUILD)/%.o: %.c
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(run)$(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c $< -o $@

$(BUILD)/libemb.a: $(lib_obj)
	$(call say,AR,$@)
	$(run)rm -f $@ && $(AR) rcs $@ $^

$(BUILD)/libemb.so: $(lib_obj)
	$(call say,LD,$@)
	$(run)$(CC) $(SANFLAGS) -shared -Wl,-soname,libemb.so.$(soversion) $(LDFLAGS) $^ $(LDLIBS) -o $@

$(BUILD)/embtool: $(cmd_obj) $(BUILD)/libemb.a
	$(call say,LD,$@)
	$(run)$(CC) $(SANFLAGS) $(LDFLAGS) $^ $(LDLIBS) -o $@

# A plugin is linked to its library in the ordinary way, and to nothing of ours.
$(BUILD)/lib/embtool/libemb-blas.so: $(BUILD)/lib/blas/openblas.o
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(run)$(CC) $(SANFLAGS) -shared $(LDFLAGS) $^ $(BLAS_LIBS) -o $@

$(BUILD)/lib/embtool/libemb-http.so: $(filter $(BUILD)/lib/http/%,$(plugin_obj))
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(run)$(CC) $(SANFLAGS) -shared $(LDFLAGS) $^ $(CURL_LIBS) -o $@

# The host's side of the CUDA plugin, without its kernels: the tests put others in their place.
cuda_host := $(filter-out %/image.o,$(filter $(BUILD)/lib/cuda/%,$(plugin_obj)))

$(BUILD)/lib/cuda/kernels.fatbin: lib/cuda/kernels.cu $(wildcard lib/cuda/*.cuh lib/cuda/*.h) lib/dev/cuda.h \
                                  lib/num/deviates.h lib/num/normal.h lib/num/half.h lib/util/rng.h lib/util/both.h
	@mkdir -p $(@D)
	$(call say,NVCC,$@)
	$(run)$(NVCC) -Ilib $(NVCCFLAGS) -fatbin $< -o $@

$(BUILD)/lib/cuda/image.o: CPPFLAGS += -DEMBI_CUDA_FATBIN='"$(BUILD)/lib/cuda/kernels.fatbin"'
$(BUILD)/lib/cuda/image.o: $(BUILD)/lib/cuda/kernels.fatbin

$(BUILD)/lib/embtool/libemb-cuda.so: $(cuda_host) $(BUILD)/lib/cuda/image.o
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(run)$(CC) $(SANFLAGS) -shared $(LDFLAGS) $^ -ldl -o $@

# ---------------------------------------------------------------- man pages and completion

$(gen_obj): CPPFLAGS += -Icmd

$(BUILD)/embtool-gen: $(gen_obj) $(filter-out $(BUILD)/cmd/main.o,$(cmd_obj)) $(BUILD)/libemb.a
	$(call say,LD,$@)
	$(run)$(CC) $(SANFLAGS) $(LDFLAGS) $^ $(LDLIBS) -o $@

$(BUILD)/man/embtool.1: $(BUILD)/embtool-gen
	@mkdir -p $(@D)
	$(call say,GEN,$@)
	$(run)$< man >$@

$(BUILD)/man/embtool-%.1: $(BUILD)/embtool-gen
	@mkdir -p $(@D)
	$(call say,GEN,$@)
	$(run)$< man $* >$@

$(scripts:%=$(BUILD)/completion/%): $(BUILD)/embtool-gen
	@mkdir -p $(@D)
	$(call say,GEN,$@)
	$(run)$< $(@F) >$@

# ---------------------------------------------------------------- what apt brings (Debian 12 and 13, Ubuntu)

BUILD_PACKAGES := gcc make pkg-config libc6-dev zlib1g-dev libpcre2-dev libutf8proc-dev libopenblas-dev \
                  libcurl4-openssl-dev
TEST_PACKAGES  := $(BUILD_PACKAGES) g++ libcriterion-dev python3 python3-venv binutils git valgrind \
                  clang libclang-rt-dev cppcheck universal-ctags locales-all mandoc groff-base zsh fish nginx-light openssl
# Their findings differ by version, so the lint skips another one. A release that has left them behind tests without.
PINNED_PACKAGES := clang-format-14 clang-tidy-14
pinned_there    = $$(apt-cache pkgnames clang- | grep -xF $(PINNED_PACKAGES:%=-e %))

.PHONY: deps deps-test
deps:
	$(SUDO) apt-get update -q
	$(SUDO) env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends $(BUILD_PACKAGES)

deps-test:
	$(SUDO) apt-get update -q
	$(SUDO) env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends $(TEST_PACKAGES) $(pinned_there)

# ---------------------------------------------------------------- tests

# Criterion cannot start under ThreadSanitizer.
unit_src := $(if $(filter tsan,$(SAN)),,$(wildcard tests/unit/*.c))
kern_src := $(wildcard tests/kern/*.c)
peer_src := $(wildcard tests/peers/*.c)
unit_bin := $(unit_src:%.c=$(BUILD)/%)
kern_bin := $(kern_src:%.c=$(BUILD)/%)
peer_bin := $(peer_src:%.c=$(BUILD)/%)
CRITERION_LIBS = $(or $(shell pkg-config --libs criterion 2>/dev/null),-lcriterion)

$(unit_bin): $(BUILD)/%: $(BUILD)/%.o $(BUILD)/libemb.a
	$(call say,LD,$@)
	$(run)$(CC) $(SANFLAGS) $(LDFLAGS) $^ $(CRITERION_LIBS) $(LDLIBS) -o $@

# The set for AVX-512 once more, its instructions as plain loops: CPUs without them test it too. Optimisers and sanitizers take minutes over
# what these become; that kernels stay in their rows is seen by pages that cannot be touched.
ifeq ($(shell uname -m),x86_64)
emulated_obj := $(patsubst %,$(BUILD)/tests/kern/emulated/%_avx512.o,kern philox)
$(emulated_obj): $(BUILD)/tests/kern/emulated/%.o: lib/num/%.c
	@mkdir -p $(@D)
	$(call say,CC,$@)
	$(run)$(CC) -Itests/kern/emulated $(CPPFLAGS) $(filter-out $(SANFLAGS) $(OPT),$(CFLAGS)) -Og -g -mavx2 -mfma -mf16c -Wno-psabi -MMD -MP \
	    -Dembi_kern_avx512=embi_kern_emulated -Dembi_scan_fields_avx512=embi_scan_fields_avx2 \
	    -Dembi_random_words_avx512=embi_random_words_emulated -c $< -o $@
$(patsubst %,$(BUILD)/tests/kern/%_main,kern products random): $(emulated_obj)
endif

$(kern_bin) $(peer_bin): $(BUILD)/%: $(BUILD)/%.o $(BUILD)/libemb.a
	$(call say,LD,$@)
	$(run)$(CC) $(SANFLAGS) $(LDFLAGS) $(filter %.o,$^) $(BUILD)/libemb.a $(LDLIBS) -o $@

# Between the library and the C library: calls that fail when they are told to (tests/faults/shim.h).
wrapped := malloc calloc realloc aligned_alloc strdup strndup asprintf vasprintf realpath free mmap munmap \
           pthread_create open openat close fcntl getdents64 read pread write pwrite fsync fallocate \
           mkdirat linkat renameat renameat2
fault_bin := $(BUILD)/tests/faults/alloc_main $(BUILD)/tests/faults/embtool
fault_obj := $(BUILD)/tests/faults/shim.o $(BUILD)/tests/faults/alloc_main.o
$(BUILD)/tests/faults/alloc_main: $(fault_obj) $(BUILD)/libemb.a
$(BUILD)/tests/faults/embtool: $(BUILD)/tests/faults/shim.o $(cmd_obj) $(BUILD)/libemb.a
$(fault_bin):
	$(call say,LD,$@)
	$(run)$(CC) $(SANFLAGS) $(LDFLAGS) $(wrapped:%=-Wl,--wrap=%) $^ $(LDLIBS) -o $@

# What these compare with is computed slowly, in one thread: only the library needs ThreadSanitizer's eyes.
ifeq ($(SAN),tsan)
$(BUILD)/tests/kern/search_main.o $(BUILD)/tests/kern/stats_main.o: SANFLAGS := -DUNDER_TSAN
endif

# Plugins as they should not be, for the tests of the loader: each in a directory of its own.
fake_src := $(wildcard tests/plugins/*.c)
fakes    := $(fake_src:%.c=$(BUILD)/%/libemb-blas.so)

$(fakes): $(BUILD)/%/libemb-blas.so: %.c lib/dev/blas.h
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(run)$(CC) $(CPPFLAGS) $(CSTD) $(WARN) $(SANFLAGS) -fPIC -shared $(LDFLAGS) $< -o $@

# The kernels of lib/cuda as C++, on a shim (tests/gpu/shim.h); a plugin without theirs; and a driver that runs them on
# the shim, for that plugin. ThreadSanitizer does not know fibres, which are written for x86-64.
CXX      ?= c++
CXXFLAGS += -std=c++17 -O1 -g -ffp-contract=off -Wall -Wextra -Wno-unknown-pragmas $(if $(WERROR),-Werror) \
            $(SANFLAGS) -fPIC -fvisibility=hidden
gpu      := $(BUILD)/tests/gpu
gpu_shim := $(gpu)/shim.o $(gpu)/kernels.o $(gpu)/kernels_cu.o
gpu_made := $(if $(filter tsan,$(SAN))$(filter-out x86_64,$(shell uname -m)),,$(gpu)/kernels_main $(gpu)/plugin/libemb-cuda.so $(gpu)/driver/libcuda.so.1 \
                                        $(gpu)/ops_main $(gpu)/small/bench_main $(gpu)/other_abi/libemb-cuda.so $(gpu)/stranger/libemb-cuda.so)

$(gpu)/%.o: tests/gpu/%.cc
	@mkdir -p $(@D)
	$(call say,CXX,$<)
	$(run)$(CXX) -Ilib -Itests/gpu $(CXXFLAGS) -MMD -MP -c $< -o $@

$(gpu)/kernels_cu.o: lib/cuda/kernels.cu tests/gpu/shim.h
	@mkdir -p $(@D)
	$(call say,CXX,$<)
	$(run)$(CXX) -Ilib -Itests/gpu $(CXXFLAGS) -MMD -MP -include tests/gpu/shim.h -x c++ -c $< -o $@

$(gpu)/kernels_main: $(gpu)/kernels_main.o $(gpu_shim)
	$(call say,LD,$@)
	$(run)$(CXX) $(SANFLAGS) $(LDFLAGS) $^ -o $@

$(gpu)/driver/libcuda.so.1: $(gpu)/fake_cuda.o $(gpu_shim)
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(run)$(CXX) $(SANFLAGS) -shared -Wl,-soname,libcuda.so.1 $(LDFLAGS) $^ -o $@

$(gpu)/host/%.o: lib/cuda/%.c
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(run)$(CC) -Itests/gpu/small $(CPPFLAGS) $(CFLAGS) -MMD -MP -c $< -o $@

$(gpu)/plugin/libemb-cuda.so: $(cuda_host:$(BUILD)/lib/cuda/%=$(gpu)/host/%) $(gpu)/image.o
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(run)$(CC) $(SANFLAGS) -shared $(LDFLAGS) $^ -ldl -o $@

# Plugins as they should not be.
$(gpu)/other_abi/libemb-cuda.so: tests/gpu/other_abi.c lib/dev/cuda.h
$(gpu)/stranger/libemb-cuda.so: tests/plugins/stranger.c
$(gpu)/other_abi/libemb-cuda.so $(gpu)/stranger/libemb-cuda.so:
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(run)$(CC) $(CPPFLAGS) $(CSTD) $(WARN) $(SANFLAGS) -fPIC -shared $(LDFLAGS) $< -o $@

$(gpu)/ops_main: $(gpu)/ops_main.o $(BUILD)/libemb.a
	$(call say,LD,$@)
	$(run)$(CC) $(SANFLAGS) $(LDFLAGS) $^ $(LDLIBS) -o $@

# On a real device, where there is one: the commands with --device cuda beside --device cpu, and how fast kernels are.
bench_parts := bench_main.o bench_kernels.o bench_bus.o
$(gpu)/bench_main: $(addprefix $(gpu)/,$(bench_parts)) $(cuda_host) $(BUILD)/lib/cuda/image.o $(BUILD)/libemb.a
	$(call say,LD,$@)
	$(run)$(CC) $(SANFLAGS) $(LDFLAGS) $^ $(LDLIBS) -o $@

# The same for the fake driver, so that it cannot rot where there is none.
$(gpu)/small/%.o: tests/gpu/%.c
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(run)$(CC) -Itests/gpu/small $(CPPFLAGS) $(CFLAGS) -MMD -MP -c $< -o $@

$(gpu)/small/bench_main: $(addprefix $(gpu)/small/,$(bench_parts)) $(cuda_host:$(BUILD)/lib/cuda/%=$(gpu)/host/%) $(gpu)/image.o $(BUILD)/libemb.a
	$(call say,LD,$@)
	$(run)$(CC) $(SANFLAGS) $(LDFLAGS) $^ $(LDLIBS) -o $@

.PHONY: check-gpu bench-gpu
ROWS ?=
ifeq ($(have_nvcc),yes)
check-gpu: $(made) $(gpu)/ops_main
	$(run)$(PYTHON) tests/gpu/run.py --build $(BUILD) --real
bench-gpu: $(gpu)/bench_main
	$(run)$< $(ROWS)
	$(run)$(PYTHON) tests/gpu/bench_torch.py $(ROWS)
else
check-gpu bench-gpu:
	@echo 'skipped: no device: without nvcc there is no plugin for one'
endif

# Criterion's macros are not clean under our warnings.
$(unit_bin:=.o): WARN := -Wall -Wextra $(if $(WERROR),-Werror)

# A fuzz target is linked with libFuzzer, which has the main (SAN=fuzz), or with one that replays files.
fuzz_bin := $(patsubst %.c,$(BUILD)/%,$(wildcard tests/fuzz/fuzz_*.c))
fuzz_main := $(if $(filter fuzz,$(SAN)),,$(BUILD)/tests/fuzz/replay.o)

$(BUILD)/tests/fuzz/libcmd.a: $(filter-out $(BUILD)/cmd/main.o,$(cmd_obj))
	@mkdir -p $(@D)
	$(run)rm -f $@ && $(AR) rcs $@ $^

$(fuzz_bin): $(BUILD)/%: $(BUILD)/%.o $(fuzz_main) $(BUILD)/tests/fuzz/libcmd.a $(BUILD)/libemb.a
	$(call say,LD,$@)
	$(run)$(CC) $(SANFLAGS) $(if $(fuzz_main),,-fsanitize=fuzzer) $(LDFLAGS) $^ $(LDLIBS) -o $@

$(fuzz_bin:=.o): CPPFLAGS += -Icmd

# Under a sanitizer, what .ci/run runs under it: the targets of fuzzing have a build of their own.
tests := $(made) $(unit_bin) $(kern_bin) $(fakes) \
         $(if $(filter tsan,$(SAN)),,$(fault_bin) $(gpu_made) $(if $(SAN),,$(fuzz_bin) $(peer_bin)))
suites := $(if $(filter tsan,$(SAN)),kern cli,unit kern cuda cli cases golden bad remote faults \
            $(if $(SAN),,fuzz docs install peers cost lint))
check = $(PYTHON) tests/check.py --build $(BUILD) $(if $(SAN),--sanitizer $(SAN))

.PHONY: check $(suites:%=check-%) lint tests
tests: $(tests)
check: $(tests)
	$(run)$(check) $(suites)
$(filter-out check-fuzz,$(suites:%=check-%)): check-%: $(tests)
	$(run)$(check) $*
lint: check-lint

# Without libFuzzer the corpus is replayed under AddressSanitizer. Compilers differ in what they warn of.
FUZZ_SECONDS ?= 20
has_fuzzer = $(shell echo 'int LLVMFuzzerTestOneInput(const char *s, unsigned long n) { return s && n; }' | \
                     $(FUZZ_CC) -x c -fsanitize=fuzzer - -o /dev/null 2>/dev/null && echo yes)
fuzz_make  = $(MAKE) --no-print-directory WERROR=
.PHONY: check-fuzz fuzz fuzz-targets
fuzz:
	+$(run)$(fuzz_make) SAN=fuzz BUILD=$(BUILD)-fuzz fuzz-targets
fuzz-targets: $(fuzz_bin)
ifeq ($(SAN),)
check-fuzz:
	+$(run)san=$(if $(has_fuzzer),fuzz,asan); $(fuzz_make) SAN=$$san BUILD=$(BUILD)-$$san check-fuzz
else
check-fuzz: $(fuzz_bin)
	$(run)FUZZ_SECONDS=$(FUZZ_SECONDS) $(check) fuzz
endif

# Of the suites that run our code and need no packages from elsewhere. A run that fails has no coverage.
.PHONY: coverage metrics
coverage:
	$(MAKE) COV=1 BUILD=$(BUILD)-cov tests
	find $(BUILD)-cov -name '*.gcda' -delete
	$(PYTHON) tests/check.py --build $(BUILD)-cov unit kern cli cases golden bad docs
	$(PYTHON) tests/coverage.py --build $(BUILD)-cov

metrics:
	$(run)$(PYTHON) tests/metrics.py

# CELL: names or numbers of cells; BENCH: other arguments of tests/bench/bench.py, such as --data DIR.
bench_bin := $(BUILD)/tests/bench/limits $(BUILD)/tests/bench/inproc
$(BUILD)/tests/bench/limits: $(BUILD)/tests/bench/limits.o
$(BUILD)/tests/bench/inproc: $(BUILD)/tests/bench/inproc.o $(BUILD)/libemb.a
$(bench_bin):
	$(call say,LD,$@)
	$(run)$(CC) $(SANFLAGS) $(LDFLAGS) $^ $(LDLIBS) -o $@

CELL  ?=
BENCH ?=
.PHONY: bench bench-peers
bench: $(BUILD)/embtool $(bench_bin)
	$(run)$(PYTHON) tests/bench/bench.py --build $(BUILD) $(CELL) $(BENCH)
bench-peers:
	$(run)tests/bench/peers.sh $(BUILD)/bench-peers

# ---------------------------------------------------------------- install

define newline


endef

# What is installed, each path once, a line each: HOW SOURCE PATH. HOW is a mode, or `link` (SOURCE is what the link
# says), or `text` (SOURCE is the variable that holds the content).
define contents
755 $(BUILD)/embtool $(bindir)/embtool
644 lib/english/english.bin $(datadir)/embtool/english.bin
644 lib/emb.h $(includedir)/emb.h
644 $(BUILD)/libemb.a $(libdir)/libemb.a
755 $(BUILD)/libemb.so $(libdir)/libemb.so.$(version)
link libemb.so.$(version) $(libdir)/libemb.so.$(soversion)
link libemb.so.$(soversion) $(libdir)/libemb.so
text PC $(pkgconfigdir)/emb.pc
644 $(BUILD)/completion/bash $(bashcompdir)/embtool
644 $(BUILD)/completion/zsh $(zshcompdir)/_embtool
644 $(BUILD)/completion/fish $(fishcompdir)/embtool.fish
$(foreach p,$(pages),644 $(BUILD)/man/$p $(mandir)/man1/$p$(newline))
$(foreach p,$(plugins),755 $p $(libdir)/embtool/$(notdir $p)$(newline))
endef

# Paths under the prefix are written so that pkg-config --define-prefix can move them.
under_prefix = $(patsubst $(prefix)/%,$${prefix}/%,$(1))
define pc
prefix=$(prefix)
libdir=$(call under_prefix,$(libdir))
includedir=$(call under_prefix,$(includedir))
plugindir=$${libdir}/embtool

Name: emb
Description: Embedding tables: open, look up, search, write
Version: $(version)
Cflags: -I$${includedir}
Libs: -L$${libdir} -lemb
Libs.private: $(strip $(LDLIBS))
endef

.PHONY: install uninstall clean
install uninstall: export CONTENTS = $(contents)
install uninstall: export PC = $(pc)
install: all
	@printf '%s\n' "$$CONTENTS" | while read -r how from path; do \
	    [ "$$how" ] || continue; \
	    echo "  INSTALL $(DESTDIR)$$path"; \
	    case $$how in \
	    link) ln -sfn "$$from" "$(DESTDIR)$$path" ;; \
	    text) printenv "$$from" | install -D -m 644 /dev/stdin "$(DESTDIR)$$path" ;; \
	    *) install -D -m "$$how" "$$from" "$(DESTDIR)$$path" ;; \
	    esac || exit; \
	done

# A plugin goes even where the library that it is for is not found any more. Folders that are embtool's alone go with
# their last file.
uninstall: plugins := $(every_plugin)
uninstall:
	@printf '%s\n' "$$CONTENTS" | while read -r how from path; do \
	    [ "$$how" ] || continue; \
	    echo "  REMOVE $(DESTDIR)$$path"; \
	    rm -f "$(DESTDIR)$$path" || exit; \
	done
	@rmdir "$(DESTDIR)$(datadir)/embtool" "$(DESTDIR)$(libdir)/embtool" 2>/dev/null || true

clean:
	rm -rf build build-asan build-fuzz build-tsan build-cov

-include $(wildcard $(lib_obj:.o=.d) $(cmd_obj:.o=.d) $(gen_obj:.o=.d) $(unit_bin:=.d) $(kern_bin:=.d) \
           $(fault_obj:.o=.d) $(fuzz_bin:=.d) $(bench_bin:=.d) $(BUILD)/tests/fuzz/replay.d \
           $(peer_bin:=.d) $(emulated_obj:.o=.d) $(plugin_obj:.o=.d) $(wildcard $(gpu)/*.d $(gpu)/host/*.d $(gpu)/small/*.d))
