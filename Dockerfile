FROM python:3.12-slim
WORKDIR /app
COPY pyproject.toml constraints.txt README.md LICENSE CHANGELOG.md ./
COPY src src
RUN pip install --no-cache-dir -c constraints.txt '.[service]' \
    && useradd --create-home tightrope && mkdir -p /keys && chown tightrope /keys
USER tightrope
ENV TIGHTROPE_CACHE=/home/tightrope/cache
EXPOSE 8080
ENTRYPOINT ["tightrope"]
CMD ["serve", "--host", "0.0.0.0", "--db", "/home/tightrope/tightrope.db"]
