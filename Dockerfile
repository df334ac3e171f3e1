# The image of gpu-extender: `docker build -t gpu-extender .`; docs/image.md tells how it is used.
# tests/image lints it, and runs its stages where there is no builder.

# A base by digest is the same for ever: --build-arg BASE=python:3.11-slim-bookworm@sha256:...
ARG BASE=python:3.11-slim-bookworm

FROM ${BASE} AS wheel
WORKDIR /build
COPY requirements/build.txt ./
RUN ["python", "-m", "venv", "/tools"]
RUN ["/tools/bin/pip", "install", "--no-cache-dir", "--require-hashes", "-r", "build.txt"]
COPY LICENSE README.md pyproject.toml ./
COPY extender ./extender
RUN ["/tools/bin/pip", "wheel", "--no-cache-dir", "--no-deps", "--no-build-isolation", "--wheel-dir", "/wheels", "."]

# A place of its own, which the last stage takes as it is: pip stays behind.
FROM ${BASE} AS place
WORKDIR /build
COPY requirements/runtime.txt ./
RUN ["python", "-m", "venv", "--without-pip", "/opt/gpu-extender"]
RUN ["python", "-m", "pip", "--python", "/opt/gpu-extender/bin/python", "install", "--no-cache-dir", "--only-binary", ":all:", "--require-hashes", "-r", "runtime.txt"]
COPY --from=wheel /wheels /wheels
RUN ["python", "-m", "pip", "--python", "/opt/gpu-extender/bin/python", "install", "--no-cache-dir", "--no-deps", "--no-index", "--find-links", "/wheels", "gpu-extender"]

FROM ${BASE}
ARG VERSION=0.1.0
ARG REVISION=unknown
LABEL org.opencontainers.image.title="gpu-extender" \
      org.opencontainers.image.description="A kube-scheduler extender that shares GPUs between pods" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"
COPY --from=place /opt/gpu-extender /opt/gpu-extender
ENV PATH="/opt/gpu-extender/bin:${PATH}" \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1
# A number, so that Kubernetes can tell that it is not root; it owns nothing here, and needs nothing.
USER 65532:65532
WORKDIR /
EXPOSE 8080
HEALTHCHECK --interval=30s --timeout=10s --start-period=60s --retries=3 CMD ["gpu-extender", "health"]
ENTRYPOINT ["gpu-extender"]
CMD ["serve", "--in-cluster"]
