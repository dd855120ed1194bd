# recond - one flat Makefile. `make help` lists the targets, `make info` what was found and why.
#
#   MODE=release|debug|asan|tsan|fuzz|coverage   how to compile (default release)
#   CUDA=0|1                            without / with the CUDA back end (default: 1 where nvcc is found)
#   CUDA_ARCH="sm_80 sm_90"             GPU code to generate; PTX of the last one is added
#   B=dir                               where objects go (default build)
#   V=1                                 show every command
#   CFLAGS= CPPFLAGS= LDFLAGS=          added after ours

VERSION   := 0.1.0
COMMIT    ?= $(or $(shell git describe --always --dirty --abbrev=12 --exclude='*' 2>/dev/null),unknown)
MODE      ?= release
B         ?= build
PREFIX    ?= /usr/local
DESTDIR   ?=
CUDA_ARCH ?= sm_80 sm_90

# ---------------------------------------------------------------- probes
NVCC ?= $(firstword $(shell command -v nvcc 2>/dev/null) $(wildcard /usr/local/cuda/bin/nvcc))
# nvcc itself says where its headers and libraries are: the one on PATH may be a wrapper of another folder
NVCC_SAYS  = $(subst ",,$(shell $(NVCC) --dryrun -x cu /dev/null 2>&1 | sed -n 's/^\#$$ $(1)= *//p'))
CUDA_INC  := $(if $(NVCC),$(patsubst -I%,-isystem %,$(call NVCC_SAYS,INCLUDES)))
CUDA_LIB  := $(if $(NVCC),$(call NVCC_SAYS,LIBRARIES))
CUDA_HAS   = $(shell $(CC) $(CUDA_INC) -E -include cuda_runtime.h -x c /dev/null >/dev/null 2>&1 && echo 1)
ifeq ($(origin CUDA), undefined)
  CUDA     := $(if $(NVCC),$(or $(CUDA_HAS),0),0)
  CUDA_WHY := $(if $(NVCC),found $(NVCC)$(if $(filter 0,$(CUDA)), but not its cuda_runtime.h),nvcc not found)
else
  CUDA_WHY := asked for on the command line
endif
# the REST edge speaks TLS through libmicrohttpd's GnuTLS; without its headers recond is built without TLS
GNUTLS     := $(shell $(CC) -E -include gnutls/abstract.h -x c /dev/null >/dev/null 2>&1 && echo 1)
OBJCOPY    ?= objcopy
PYTHON     ?= $(firstword $(wildcard /usr/bin/python3) python3)
ONNX_PROTO ?= $(firstword $(wildcard $(addsuffix /onnx/onnx.proto,$(subst :, ,$(CPATH)) /usr/include /usr/local/include)))
PKGS       := libmicrohttpd libwebsockets jansson libturbojpeg libsystemd libzstd zlib libprotobuf-c \
              libcurl libpng libcrypto libssl
PKG_CFLAGS := $(shell pkg-config --cflags $(PKGS) 2>/dev/null)
# headers and libraries of one place: the folders that pkg-config names come before the system's own
PKG_LDFLAGS := $(shell PKG_CONFIG_ALLOW_SYSTEM_LIBS=1 pkg-config --libs-only-L $(PKGS) 2>/dev/null)

# ---------------------------------------------------------------- modes
ifeq ($(origin CC), default)
  CC      := gcc
endif
WARN      := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith \
             -Wwrite-strings -Wvla -Werror=implicit-function-declaration -Werror=return-type \
             -Werror=incompatible-pointer-types -Wno-missing-field-initializers
CPP_COMMON = -I. -I$(O)/gen -D_GNU_SOURCE -DRECOND_VERSION='"$(VERSION)"' $(PKG_CFLAGS)
CFLAGS_COMMON := -std=c11 -g $(WARN) -fno-strict-aliasing -ffp-contract=off -fno-math-errno -pthread
LDFLAGS_COMMON := -pthread
# mistakes that the program looks for itself end it (proto/checked.h)
CHECKED := -DCHECKED
ifeq ($(MODE),release)
  CFLAGS_MODE  := -O2 -ftree-vectorize -D_FORTIFY_SOURCE=2 -fstack-protector-strong -fPIE
  LDFLAGS_MODE := -pie -Wl,-z,relro,-z,now
else ifeq ($(MODE),debug)
  CFLAGS_MODE  := -O0 $(CHECKED)
else ifeq ($(MODE),asan)
  # a report names lines and no variables: what else -g writes costs a third of the time to compile
  CFLAGS_MODE  := -O1 -g1 -fsanitize=address,undefined,float-cast-overflow -fno-sanitize-recover=undefined,float-cast-overflow \
                  -fno-omit-frame-pointer $(CHECKED)
  LDFLAGS_MODE := -fsanitize=address,undefined
else ifeq ($(MODE),tsan)
  CFLAGS_MODE  := -O1 -fsanitize=thread -fno-omit-frame-pointer $(CHECKED)
  LDFLAGS_MODE := -fsanitize=thread
else ifeq ($(MODE),fuzz)
  CC           := clang
  CFLAGS_MODE  := -O1 -g1 -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined
  LDFLAGS_MODE := -fsanitize=address,undefined
else ifeq ($(MODE),coverage)
  CFLAGS_MODE  := -O0 --coverage
  LDFLAGS_MODE := --coverage
else
  $(error MODE=$(MODE): allowed are release, debug, asan, tsan, fuzz, coverage)
endif
ALL_CFLAGS  = $(CPP_COMMON) $(CPPFLAGS) $(CFLAGS_COMMON) $(CFLAGS_MODE) $(CFLAGS)
ALL_LDFLAGS = $(LDFLAGS_COMMON) $(LDFLAGS_MODE) $(PKG_LDFLAGS) $(LDFLAGS)

O := $(B)/$(if $(filter 1,$(CUDA)),cuda,cpu)-$(MODE)

# ---------------------------------------------------------------- what is compiled into what
# a folder's files and those of its rooms; gpu/train is Python's
rooms       = $(filter-out gpu/train/%,$(wildcard $(foreach s,$(2),$(1)/$(s) $(1)/*/$(s))))
PROTO_SRC  := $(call rooms,proto,*.c)
CUDA_C     := $(call rooms,gpu,*_cuda.c *_cuda_*.c)
GPU_CUDA   := $(if $(filter 1,$(CUDA)),$(CUDA_C) $(call rooms,gpu,*.cu))
NO_CUDA    := gpu/base/backend_none.c gpu/recognise/recogniser_none.c
GPU_SRC    := $(filter-out $(NO_CUDA) $(CUDA_C),$(call rooms,gpu,*.c)) $(or $(GPU_CUDA),$(NO_CUDA))
# measures against truth are the client's: no socket, no daemon
CLIENT_SRC := $(wildcard api/client/*.c) api/file.c
CTL_SRC    := $(wildcard api/ctl/*.c)
API_SRC    := $(filter-out $(filter-out api/file.c,$(CLIENT_SRC)) $(CTL_SRC) $(if $(GNUTLS),api/server/tls_gnutls_none.c,api/server/tls_gnutls.c),$(call rooms,api,*.c))
DAEMON_SRC := $(filter-out daemon/main.c,$(call rooms,daemon,*.c))

COMMA := ,
HASH := \#
# `$(call run,WORD) command`: the command alone under V=1, else one line WORD target
run = $(if $(filter 1,$(V)),,@printf '%-7s %s\n' $(1) $(@:$(O)/%=%);)
objs = $(addprefix $(O)/,$(addsuffix .o,$(1)))
LIB_PROTO  := $(O)/libproto.a
LIB_GPU    := $(O)/libgpu.a
LIB_CLIENT := $(O)/libclient.a
LIB_API    := $(O)/libapi.a
LIB_DAEMON := $(O)/libdaemon.a

LIBS_PROTO  := -lturbojpeg -ljpeg -lzstd -lz -ljansson -lpng -lm
LIBS_GPU    := -ldnnl -lgomp -lprotobuf-c -lm
LIBS_CLIENT := -lcurl -lwebsockets -lssl -lcrypto
LIBS_API    := -lmicrohttpd -lssl -lcrypto $(if $(GNUTLS),-lgnutls)
LIBS_DAEMON := -lsystemd -linih
ifeq ($(CUDA),1)
  NVCC_GEN    := $(foreach a,$(CUDA_ARCH),-gencode arch=$(a:sm_%=compute_%),code=$(a)) \
                 -gencode arch=$(patsubst sm_%,compute_%,$(lastword $(CUDA_ARCH))),code=$(patsubst sm_%,compute_%,$(lastword $(CUDA_ARCH)))
  NVCCFLAGS   := -std=c++17 -O3 -lineinfo -Xcompiler -Wall,-Wextra,-fPIE $(NVCC_GEN)
  # the run-time is linked in: a program that was built with CUDA starts where there is none
  LIBS_GPU    += $(CUDA_LIB) -lcudart_static -lstdc++ -lrt -ldl -lpthread
  PKG_CFLAGS  += $(CUDA_INC)
endif

# the commands of README use all cores unless they were told a number of jobs
JOBS = $(if $(filter -j% --jobserver%,$(MAKEFLAGS)),,-j$(shell nproc))

all: $(O)/recond $(O)/reconctl $(O)/librecond-client.a ## build recond, reconctl and the client library

$(LIB_PROTO):  $(call objs,$(PROTO_SRC))
$(LIB_GPU):    $(call objs,$(GPU_SRC)) $(O)/gen/onnx/onnx.pb-c.c.o
$(LIB_CLIENT): $(call objs,$(CLIENT_SRC))
$(LIB_API):    $(call objs,$(API_SRC)) $(O)/gen/openapi_json.c.o $(O)/gen/web_files.c.o
$(LIB_DAEMON): $(call objs,$(DAEMON_SRC)) $(O)/gen/commit.c.o
$(LIB_PROTO) $(LIB_GPU) $(LIB_CLIENT) $(LIB_API) $(LIB_DAEMON):
	@rm -f $@
	@ar rcs $@ $^

LINK_ALL = $(LIB_DAEMON) $(LIB_API) $(LIB_GPU) $(LIB_PROTO)
$(O)/recond: $(O)/daemon/main.c.o $(LINK_ALL)
	$(call run,LINK)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(LIBS_DAEMON) $(LIBS_API) $(LIBS_GPU) $(LIBS_PROTO)
# what both ends know: tokens and their file, the options of sessions
$(O)/reconctl: $(call objs,$(CTL_SRC) api/session_options.c api/token.c api/quota.c) $(LIB_CLIENT) $(LIB_PROTO)
	$(call run,LINK)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(LIBS_CLIENT) $(LIBS_PROTO)

# the library that others link: one object, of which only what the installed headers declare can be seen
PUBLIC = $(basename $(notdir $(shell deploy/public-headers)))
$(O)/librecond-client.a: $(call objs,api/client/client.c api/client/client_stream.c $(wildcard proto/cloud/cloud*.c)) $(LIB_CLIENT) $(LIB_PROTO)
	$(call run,AR)$(LD) -r -o $(@:.a=.o) $^
	@$(OBJCOPY) -w $(PUBLIC:%=--keep-global-symbol='%_*') $(@:.a=.o)
	@rm -f $@
	@ar rcs $@ $(@:.a=.o)

$(O)/%.c.o: %.c
	@mkdir -p $(@D)
	$(call run,CC)$(CC) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<
# Loops over a volume, and those of many views, use all the threads that the CPU back end has. Fuzz targets have neither,
# and clang would want a library of its own for them.
ifneq ($(MODE),fuzz)
$(O)/gpu/panorama/carve_cpu.c.o $(O)/gpu/panorama/range_cpu.c.o $(O)/gpu/panorama/blend_cpu.c.o \
$(O)/gpu/views/%_cpu.c.o: CFLAGS += -fopenmp
endif
$(O)/gen/%.c.o: $(O)/gen/%.c
	@mkdir -p $(@D)
	$(call run,CC)$(CC) $(ALL_CFLAGS) -w -c -o $@ $<
# stages round as their CPU twins do: no fused multiply-add outside the networks
$(O)/%.cu.o: %.cu
	@mkdir -p $(@D)
	$(call run,NVCC)$(NVCC) $(NVCCFLAGS) $(if $(filter gpu/net/net_cuda%,$<),,--fmad=false) -I. -MMD -MP -c -o $@ $<

# generated: the ONNX wire format from Debian's onnx.proto, the REST contract as JSON
$(O)/gen/onnx/onnx.pb-c.c: $(ONNX_PROTO)
	@mkdir -p $(@D)
	@test -n '$<' || { echo 'onnx.proto not found: run deploy/install-deps build' >&2; exit 1; }
	$(call run,PROTOC)protoc-c -I$(patsubst %/onnx/onnx.proto,%,$<) --c_out=$(O)/gen onnx/onnx.proto
$(O)/gen/onnx/onnx.pb-c.h: $(O)/gen/onnx/onnx.pb-c.c ;
$(O)/gen/openapi_json.c: api/openapi.yaml api/openapi_embed.py
	@mkdir -p $(@D)
	$(call run,EMBED)$(PYTHON) api/openapi_embed.py api/openapi.yaml $@
# the page, whose files are found when they come and when they go
WEB_FILES := $(shell find api/web -type f | LC_ALL=C sort)
$(O)/gen/web_files.list: FORCE
	@mkdir -p $(@D)
	@echo '$(WEB_FILES)' | cmp -s - $@ || echo '$(WEB_FILES)' >$@
$(O)/gen/web_files.c: $(O)/gen/web_files.list $(WEB_FILES) api/web_embed.py
	$(call run,EMBED)$(PYTHON) api/web_embed.py api/web $@
$(call objs,$(wildcard gpu/net/net_onnx*.c)): $(O)/gen/onnx/onnx.pb-c.c
# written when it changes, so that a new commit compiles nothing else again
COMMIT_C   = const char core_commit[] = "$(COMMIT)";
$(O)/gen/commit.c: FORCE
	@mkdir -p $(@D)
	@echo '$(COMMIT_C)' | cmp -s - $@ || echo '$(COMMIT_C)' >$@
FORCE:

# ---------------------------------------------------------------- tests
# A test's first word names its folder and so what it links: proto_* links proto alone, gpu_* gpu and
# proto, client_* the client library, daemon_* and api_* everything but the main functions. Helpers of
# tests/support are linked where a test names them.
TEST_SRC := $(wildcard tests/unit/*.c tests/twin/*.c tests/fault/*.c)
TESTS    := $(patsubst %.c,$(O)/%,$(TEST_SRC))
# twins that need no device of their own run on the host, where there is none: `check` takes one or the other
HOST_TWINS := $(addprefix $(O)/emulate/,gpu_line gpu_stages gpu_state gpu_track gpu_views gpu_sensor gpu_recognise gpu_jpeg gpu_sessions gpu_depth gpu_panorama gpu_wait)
NO_GPU   := $(and $(filter release debug,$(MODE)),$(if $(filter 1,$(CUDA)),$(if $(wildcard /dev/nvidia[0-9]* /dev/dxg),,1),1))
RUN_TESTS := $(if $(NO_GPU),$(filter-out $(HOST_TWINS:$(O)/emulate/%=$(O)/tests/twin/%),$(TESTS)) $(HOST_TWINS),$(TESTS))
FUZZ_SRC := $(wildcard tests/fuzz/fuzz_*.c)
FUZZERS  := $(patsubst %.c,$(O)/%,$(FUZZ_SRC))
BENCH    := $(patsubst %.c,$(O)/%,$(filter-out tests/bench/bench_cuda_%,$(wildcard tests/bench/bench_*.c)))
BENCH_GPU := $(if $(filter 1,$(CUDA)),$(patsubst %,$(O)/%,$(basename $(wildcard tests/bench/bench_cuda_*.c tests/bench/bench_cuda_*.cu))))
LIB_BENCH := $(O)/libbench.a
E2E      := $(sort $(wildcard tests/e2e/[0-9]*))
LIB_TEST := $(O)/libtest.a
TEST_LIB_SRC := $(if $(filter 1,$(CUDA)),$(filter-out %_none.c,$(wildcard tests/support/*.c)) $(wildcard tests/support/*.cu),$(wildcard tests/support/*.c))
$(LIB_BENCH): $(call objs,$(wildcard tests/bench/support_*.c) $(if $(filter 1,$(CUDA)),$(wildcard tests/bench/support_*.cu)))
$(LIB_TEST): $(call objs,$(TEST_LIB_SRC))
$(LIB_TEST) $(LIB_BENCH) $(O)/emulate/libgpu.a:
	@rm -f $@
	@ar rcs $@ $^

test_word = $(firstword $(subst _, ,$(notdir $(1))))
.SECONDEXPANSION:
libs_proto  = $(LIB_PROTO)
libs_gpu    = $(LIB_GPU) $(LIB_PROTO)
libs_cuda   = $(libs_gpu)
libs_client = $(LIB_CLIENT) $(LIB_PROTO)
libs_daemon = $(LIB_CLIENT) $(LINK_ALL)
libs_api    = $(libs_daemon)
sys_proto   = $(LIBS_PROTO)
sys_gpu     = $(LIBS_GPU) $(LIBS_PROTO)
sys_cuda    = $(sys_gpu)
sys_client  = $(LIBS_CLIENT) $(LIBS_PROTO)
sys_daemon  = $(LIBS_CLIENT) $(LIBS_DAEMON) $(LIBS_API) $(LIBS_GPU) $(LIBS_PROTO)
sys_api     = $(sys_daemon)

$(TESTS): $(O)/%: $(O)/%.c.o $(LIB_TEST) $$(libs_$$(call test_word,$$*))
	$(call run,LINK)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(sys_$(call test_word,$*)) -lcmocka
$(BENCH) $(BENCH_GPU): $(O)/tests/bench/bench_%: $$(call objs,$$(wildcard tests/bench/bench_%.c tests/bench/bench_%.cu)) $(LIB_BENCH) $(LIB_TEST) $$(libs_$$(call test_word,$$*))
	$(call run,LINK)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(sys_$(call test_word,$*)) -lcmocka
# draws sequences with exact depth, and turns those of others (tests/bench/places.c)
$(O)/tests/bench/places: $(call objs,$(wildcard tests/bench/place*.c)) $(libs_client)
	$(call run,LINK)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(sys_client)
# draws pictures of a chessboard (tests/bench/boards.c)
$(O)/tests/bench/boards: $(call objs,tests/bench/boards.c)
	$(call run,LINK)$(CC) $(ALL_LDFLAGS) -o $@ $^ -ljpeg -lm
# draws one camera's walk, all directions of it (tests/bench/walk.c)
$(O)/tests/bench/walk: $(call objs,tests/bench/walk.c) $(libs_proto)
	$(call run,LINK)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(sys_proto)
# calls of the CUDA run-time that tests/support/watch_cuda.cu looks at
WATCHED := __cudaLaunchKernel $(addprefix cuda,Malloc MallocManaged MallocHost HostAlloc HostRegister MallocAsync FreeAsync Free \
           FreeHost StreamCreateWithFlags StreamCreateWithPriority EventCreate EventCreateWithFlags GraphInstantiate \
           GraphExecDestroy LaunchHostFunc LaunchKernel LaunchKernelExC MemcpyAsync Memcpy2DAsync MemsetAsync GraphUpload GraphLaunch EventRecord StreamWaitEvent \
           StreamSynchronize DeviceSynchronize Memcpy Memset)
$(O)/tests/twin/gpu_steady: ALL_LDFLAGS += $(if $(filter 1,$(CUDA)),$(addprefix -Wl$(COMMA)--wrap=,$(WATCHED)))
# Fuzz targets get libFuzzer's main under MODE=fuzz, elsewhere a main that replays the corpus.
FUZZ_OBJ  = $(if $(filter fuzz,$(MODE)),,$(O)/tests/fuzz/replay.c.o)
FUZZ_FLAG = $(if $(filter fuzz,$(MODE)),-fsanitize=fuzzer)
$(FUZZERS): $(O)/tests/fuzz/fuzz_%: $(O)/tests/fuzz/fuzz_%.c.o $(FUZZ_OBJ) $(LIB_TEST) $$(libs_$$(call test_word,$$*))
	$(call run,LINK)$(CC) $(ALL_LDFLAGS) $(FUZZ_FLAG) -o $@ $^ $(sys_$(call test_word,$*)) -lcmocka

tests: all $(RUN_TESTS) $(FUZZERS) $(O)/tests/bench/bench_client_load $(O)/tests/bench/places $(O)/tests/bench/boards $(O)/tests/bench/walk ## build every test program
check: ## run all tests (installs missing packages first)
	@deploy/install-deps build check
	@$(MAKE) --no-print-directory $(JOBS) tests
	@O=$(O) MODE=$(MODE) tests/run $(RUN_TESTS) $(foreach f,$(FUZZERS),corpus:$(f)) $(E2E)
check-full: tests ## all tests, with every case of the slow sweeps
	@O=$(O) MODE=$(MODE) FULL=1 TEST_TIMEOUT=1800 tests/run $(RUN_TESTS) $(foreach f,$(FUZZERS),corpus:$(f)) $(E2E)
check-unit: $(RUN_TESTS) $(FUZZERS) ## run the tests that need no daemon
	@O=$(O) MODE=$(MODE) tests/run $(RUN_TESTS) $(foreach f,$(FUZZERS),corpus:$(f))
# what reads bytes from outside or from disk, what allocates until it fails, and where threads hold two locks (proto/lock.h)
HOSTILE = $(filter $(addprefix $(O)/tests/unit/,proto_% api_% client_% daemon_journal% daemon_checkpoint% daemon_store% \
          daemon_core% daemon_mirror% daemon_outbox% daemon_turn% daemon_later% gpu_slab) $(O)/tests/fault/%,$(TESTS))
check-hostile: $(HOSTILE) $(FUZZERS) ## run the tests of proto, api and disk, and the fuzz corpora (MODE=asan)
	@O=$(O) MODE=$(MODE) tests/run $(HOSTILE) $(foreach f,$(FUZZERS),corpus:$(f))
fuzz: $(FUZZERS) ## MODE=fuzz: run every fuzz target for SECONDS=30
	@O=$(O) tests/fuzz/run $(or $(SECONDS),30) $(FUZZERS)
coverage: ## line coverage of the parsers of what comes from outside; fails below 90 %
	@$(MAKE) --no-print-directory $(JOBS) MODE=coverage measure-coverage
# programs that parse nothing, or the same for a long time, add nothing to it
COVERING = $(filter-out %_bad_jpeg,$(filter $(addprefix $(O)/tests/unit/,proto_% gpu_net_% api_% daemon_config% daemon_journal% \
           daemon_checkpoint% daemon_models%) $(addprefix $(O)/tests/fault/,daemon_checkpoint% daemon_journal%),$(TESTS)))
measure-coverage: $(COVERING) $(FUZZERS)
	@O=$(O) MODE=$(MODE) tests/coverage $(COVERING) $(foreach f,$(FUZZERS),corpus:$(f))
bench: all $(BENCH) ## stage times, frames/s, bytes per point, the paper's algorithm beside ours
	@O=$(O) SEQ="$(SEQ)" tests/bench/run $(BENCH)
bench-overload: all $(O)/tests/bench/bench_client_load ## three times what the server can do, for SECONDS=300
	@O=$(O) BOUNDS=1 tests/bench/overload $(or $(SECONDS),300)
bench-greedy: all $(O)/tests/bench/bench_client_load ## one session at ten times its rate, SECONDS=30 each
	@O=$(O) tests/bench/greedy $(or $(SECONDS),30)
bench-rate64: all $(O)/tests/bench/bench_client_load ## 64 durable sessions at 5 frames/s, for SECONDS=600; DIR=folder on a disk
	@O=$(O) DIR="$(DIR)" tests/bench/rate64 $(or $(SECONDS),600)
bench-latency: all $(O)/tests/bench/bench_client_latency ## last byte in to first changed byte out, one session; SEQ=folder
	@O=$(O) SEQ="$(SEQ)" tests/bench/latency $(or $(FRAMES),600)
# programs and scripts with figures of time, which `make check` only reports
BOUNDED = $(patsubst %.c,$(O)/%,$(shell grep -l 'bound_at_' $(TEST_SRC))) $(shell grep -l '^ *bound "' $(E2E)) tests/e2e/48-overload
bench-bounds: tests ## on a calm machine: bounds on time, one program after the other
	@O=$(O) MODE=$(MODE) BOUNDS=1 AT_ONCE=1 TEST_TIMEOUT=600 tests/run $(BOUNDED)
bench-scale: all $(O)/tests/bench/bench_client_load ## on a host with several GPUs: frames/s of one, two and four; SECONDS=20 each
	@O=$(O) tests/bench/scale $(or $(SECONDS),20)
quality: all $(O)/tests/bench/places ## clouds and depth against truth, beside trivial answers: DATA=folder of sequences; table and pictures in OUT=
	@O=$(O) tests/bench/quality
quality-gate: all $(O)/tests/bench/places ## the clip and a drawn room against committed figures; ACCEPT=1 commits to those of now
	@O=$(O) MODE=$(MODE) V=1 ACCEPT=$(ACCEPT) tests/run tests/e2e/63-quality-gate
pages: ## write anew what docs/*.md and README.md say of tests/bench/*.tsv and of api/openapi.yaml
	@$(PYTHON) tests/bench/pages.py
	@$(PYTHON) api/openapi_page.py api/openapi.yaml docs/API.md
# Levenberg-Marquardt on the processor, the judge of the optimiser of landmarks: tests/bench/card runs it where it is
CERES_FLAGS ?= $(shell printf '%s\n' '$(HASH)include <ceres/version.h>' | g++ -E -x c++ - >/dev/null 2>&1 && echo '-isystem /usr/include/eigen3 -lceres -lglog -lpthread')
peer-ceres: $(O)/tests/bench/peer_ceres ## where Debian's libceres-dev is: Levenberg-Marquardt beside the optimiser of landmarks
$(O)/tests/bench/peer_ceres: tests/bench/peer_ceres.cpp
	@mkdir -p $(@D)
	@test -n '$(CERES_FLAGS)' || { echo 'ceres/ceres.h not found: install libceres-dev' >&2; exit 1; }
	$(call run,CXX)g++ -O2 -std=c++17 -w -o $@ $< $(CERES_FLAGS)
peer-omnidir: all $(O)/tests/bench/boards ## where Debian's python3-opencv is: OpenCV's omnidir beside calibrate, on corners of drawn boards
	@D=$$(mktemp -d) && $(O)/tests/bench/boards $$D && $(O)/reconctl calibrate $$D --square 0.05 --corners $$D/corners --text && \
	    $(PYTHON) tests/bench/peer_omnidir.py $(O)/reconctl $$D/corners; S=$$?; rm -r "$$D"; exit $$S
# each peer where its Debian package is
PEERS = $(if $(CERES_FLAGS),$(O)/tests/bench/peer_ceres)
benches: $(BENCH) $(BENCH_GPU) $(PEERS) $(addprefix $(O)/tests/bench/,places boards walk) ## compile every bench and every peer whose Debian package is here
	@$(if $(CERES_FLAGS),,echo 'peer_ceres is left out: install libceres-dev')
soak-crash: all $(O)/tests/bench/bench_client_load ## kill -9 at N=1000 random moments under load: nothing may be lost
	@O=$(O) N=$(or $(N),1000) tests/e2e/54-crash
soak: all $(O)/tests/bench/bench_client_load ## sessions come and go for SECONDS=3600: nothing may grow
	@O=$(O) tests/bench/soak $(or $(SECONDS),3600)
card: ## on a GPU host: twins, e2e tests, benches, phones, latency and peers beside the last accepted run; PART=some of them
	@ls /dev/nvidia[0-9]* >/dev/null 2>&1 || { echo 'card: there is no CUDA device here: a GPU host runs this' >&2; exit 77; }
	@$(MAKE) --no-print-directory $(JOBS) all benches $(filter $(O)/tests/twin/%,$(TESTS))
	@O=$(O) COMMIT=$(COMMIT) tests/bench/card $(PART)
card-accept: ## the same, and tests/bench/card.tsv becomes what came out
	@ACCEPT=1 $(MAKE) --no-print-directory card
bench-gpu: ## on a GPU host: our kernels beside their peers and the card's limits
	@$(MAKE) --no-print-directory card PART="benches peers"
check-gpu: $(filter $(O)/tests/twin/%,$(TESTS)) ## on a GPU host: the twin tests alone; TOOL="compute-sanitizer ..." before each
	@O=$(O) MODE=$(MODE) tests/run $(filter $(O)/tests/twin/%,$(TESTS))
# CUDA's kernels on the host (tests/emulate/cuda_runtime.h), beside the library without CUDA
EMULATED     := $(filter-out gpu/net/net_cuda% gpu/base/fault_cuda%,$(call rooms,gpu,*.cu)) $(filter-out %/net_case_cuda.cu %/watch_cuda.cu,$(wildcard tests/support/*.cu)) \
                tests/emulate/emulate.cc tests/emulate/emulate_graph.cc tests/emulate/emulate_none.c $(wildcard gpu/*/line_*_cuda.c) \
                gpu/views/views_cuda.c gpu/track/track_cuda.c gpu/recognise/recognise_cuda.c gpu/recognise/recogniser_cuda.c \
                $(addprefix gpu/base/,memory_cuda.c backend_cuda.c wait_cuda.c graph_cuda.c line_cuda.c nvml_cuda.c)
LIB_HOST     := $(if $(filter 1,$(CUDA)),$(O)/emulate/libgpu.a,$(LIB_GPU))
EMULATE_CXX   = g++ -std=c++17 -O2 -g -Wall -Wextra -Wno-unused-function -Wno-unknown-pragmas -fno-strict-aliasing -ffp-contract=off -Itests/emulate -I. -MMD -MP
check-emulated: $(HOST_TWINS) ## the twin tests where there is no GPU: kernels run on the host
	@O=$(O) MODE=$(MODE) tests/run $^
$(O)/emulate/%.cu.o: %.cu
	@mkdir -p $(@D)
	$(call run,CXX)$(EMULATE_CXX) -DEMULATE_FILE=$(*F) -x c++ -c -o $@ $<
$(O)/emulate/%.cc.o: %.cc
	@mkdir -p $(@D)
	$(call run,CXX)$(EMULATE_CXX) -DEMULATE_FILE=$(*F) -c -o $@ $<
$(O)/emulate/%.c.o: %.c
	@mkdir -p $(@D)
	$(call run,CC)$(CC) -Itests/emulate $(ALL_CFLAGS) -MMD -MP -c -o $@ $<
$(O)/emulate/libgpu.a: $(call objs,$(filter-out $(GPU_CUDA),$(GPU_SRC)) $(NO_CUDA)) $(O)/gen/onnx/onnx.pb-c.c.o
$(O)/emulate/gpu_wait: $(O)/emulate/tests/emulate/gpu_wait.c.o
$(filter-out %/gpu_wait,$(HOST_TWINS)): $(O)/emulate/%: $(O)/tests/twin/%.c.o
$(HOST_TWINS): $(patsubst %,$(O)/emulate/%.o,$(EMULATED)) $(LIB_TEST) $(LIB_HOST) $(LIB_PROTO)
	$(call run,LINK)$(CC) $(ALL_LDFLAGS) -o $@ $(filter %.o,$^) $(filter %.a,$^) $(sys_gpu) -lcmocka -lstdc++
lint: ## include arrows, symbol stems, headers, lengths, formatting
	@deploy/install-deps build check lint
	@$(MAKE) --no-print-directory $(JOBS) objects
	@O=$(O) CC="$(CC)" LINT_CFLAGS="-I. -I$(O)/gen -D_GNU_SOURCE $(PKG_CFLAGS)" tests/lint/run
objects: $(filter-out %.cu.o,$(call objs,$(PROTO_SRC) $(GPU_SRC) $(CLIENT_SRC) $(CTL_SRC) $(API_SRC) $(DAEMON_SRC) $(wildcard daemon/main.c)))
FORMATTED = $(filter-out gpu/train/%,$(shell git ls-files '*.c' '*.h' '*.cu' '*.cuh'))
format: ## break long comments and clang-format every C and CUDA file
	@for round in 1 2 3; do $(PYTHON) tests/lint/wrap.py $(FORMATTED) && clang-format -i $(FORMATTED) || exit 1; done
demo: ## a clip becomes a growing cloud (SEQ=folder for your own)
	@deploy/install-deps build
	@$(MAKE) --no-print-directory $(JOBS) all
	@O=$(O) deploy/demo $(SEQ)

install: all ## install below $(DESTDIR)$(PREFIX)
	@O=$(O) DESTDIR=$(DESTDIR) PREFIX=$(PREFIX) deploy/install
uninstall: ## remove what install put there; configuration, tokens and sessions stay
	@DESTDIR=$(DESTDIR) PREFIX=$(PREFIX) deploy/install -u
info: ## what was found, and why
	@echo "version       $(VERSION)"
	@echo "mode          $(MODE), objects in $(O)"
	@echo "compiler      $(CC): $$($(CC) --version 2>/dev/null | head -n 1)"
	@echo "cuda          $(if $(filter 1,$(CUDA)),yes - for $(CUDA_ARCH),no) ($(CUDA_WHY))"
	@echo "tls           $(if $(GNUTLS),yes,no: gnutls/abstract.h not found: deploy/install-deps build)"
	@echo "onnx          $(or $(ONNX_PROTO),onnx.proto not found: deploy/install-deps build)"
	@for p in $(PKGS); do printf '%-14s%s\n' "$$p" "$$(pkg-config --modversion $$p 2>/dev/null || echo 'missing: deploy/install-deps build')"; done
	@for h in dnnl ini; do printf '%-14s%s\n' "$$h.h" "$$(echo "#include <$$h.h>" | $(CC) -include stdio.h -M -xc - 2>/dev/null | tr ' ' '\n' | grep -m 1 "/$$h.h" || echo 'missing: deploy/install-deps build')"; done
help: ## this list
	@grep -hE '^[a-z][a-z-]*:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14
clean: ## remove what was built
	rm -rf $(B)

.PHONY: all objects peer-omnidir peer-ceres tests check check-full check-unit check-hostile check-gpu check-emulated fuzz coverage measure-coverage bench benches bench-bounds bench-overload bench-rate64 bench-gpu card card-accept quality quality-gate pages bench-latency bench-scale soak soak-crash lint format demo install uninstall info help clean
.DELETE_ON_ERROR:
.DEFAULT_GOAL := all
-include $(shell find $(O) -name '*.d' 2>/dev/null)
