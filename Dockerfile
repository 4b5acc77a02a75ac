# The image of docker-compose.yml's own services: the dashboard (app) and the converter (ingest, worker).
#
# Base and packages are of one day, so that the same file always builds the same image; security fixes come with a newer
# day alone. The digest of a day:
#     docker buildx imagetools inspect debian:trixie-YYYYMMDD-slim
ARG BASE=debian:trixie-20260824-slim@sha256:d7e12182ce18b85b93007c1dedf31f2d29e01ccf3182cc4017c709b6259bc132
FROM ${BASE}

# Packages come from Debian's archive as it was when the base was made, whose address stands above that of the mirror; so
# do those of install_nsight.sh. What it serves is signed, and old by intention. A base without it ends the build.
RUN sed -i -E '/^# (http[^ ]+)$/{s##URIs: \1\nCheck-Valid-Until: no#;n;d}' /etc/apt/sources.list.d/debian.sources \
 && test "$(grep -c '^Check-Valid-Until: no$' /etc/apt/sources.list.d/debian.sources)" = 2

RUN apt-get update \
 && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends make python3 python3-venv \
 && rm -rf /var/lib/apt/lists/*

# nsys and ncu come from Debian's non-free component: NVIDIA's license applies to them, not Warpdeck's.
COPY scripts/install_nsight.sh /tmp/
RUN /tmp/install_nsight.sh /opt/nsight && rm -rf /tmp/install_nsight.sh /var/lib/apt/lists/*

RUN useradd --create-home --uid 10001 warpdeck \
 && install -d -o warpdeck -g warpdeck /srv/warpdeck /data /data/inbox /data/library
USER warpdeck
WORKDIR /srv/warpdeck

# What changes seldom comes first, so that a changed view does not install everything again. [auth,mcp,team] is what the
# services of a team need (docs/team.md).
ARG EXTRAS=[auth,mcp]
COPY --chown=warpdeck:warpdeck pyproject.toml constraints.txt Makefile README.md LICENSE ./
RUN mkdir app ingest profiledb warpdeck workloads && make setup EXTRAS="$EXTRAS"
COPY --chown=warpdeck:warpdeck . .

ENV PATH=/srv/warpdeck/.venv/bin:/opt/nsight/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    WARPDECK_INBOX=/data/inbox \
    WARPDECK_LIBRARY=/data/library
VOLUME /data
EXPOSE 8501

HEALTHCHECK --interval=30s --timeout=5s --start-period=30s \
  CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8501/_stcore/health', timeout=4)"]

# All addresses of the container: which of them the host shows to whom is said by what publishes the port, which should
# be 127.0.0.1 or a proxy (docs/team.md, "Behind a proxy, with login").
CMD ["streamlit", "run", "app/main.py", "--server.address", "0.0.0.0", "--server.port", "8501", "--server.headless", "true"]
