# dmdprof with clang, for C and C++ programs:
#     docker build -t dmdprof .
#     docker run --rm -v "$PWD:/work" dmdprof run kernel.c
FROM rust:1.95-bookworm AS build
WORKDIR /dmdprof
COPY . .
RUN cargo build --locked --profile dist -p dmdprof --bins

FROM debian:bookworm-slim
# clang brings the libLLVM that dmdprof uses.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --yes --no-install-recommends clang libc6-dev libstdc++-12-dev make \
    && rm -rf /var/lib/apt/lists/*
COPY --from=build /dmdprof/target/dist/dmdprof /dmdprof/target/dist/cargo-dmdprof /usr/local/bin/
COPY --from=build /dmdprof/runtime/markers/include/dmdprof.h /usr/local/include/
WORKDIR /work
ENTRYPOINT ["dmdprof"]
CMD ["--help"]
