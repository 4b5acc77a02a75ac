# The image of docker-compose.yml's own services: the dashboard (app) and the converter (ingest, worker).
FROM debian:trixie-slim

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

# What changes seldom comes first, so that a changed view does not install everything again. [auth,team] is what the
# services of a team need (docs/team.md).
ARG EXTRAS=[auth]
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
# be 127.0.0.1 or a proxy (README, "Behind a proxy, with login").
CMD ["streamlit", "run", "app/main.py", "--server.address", "0.0.0.0", "--server.port", "8501", "--server.headless", "true"]
