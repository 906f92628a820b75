// Both images for each PostgreSQL, for two processors, with the labels, annotations and
// attestations that CloudNativePG's project for extension images has:
//
//	REGISTRY=registry.example REVISION=$(git rev-parse HEAD) \
//		docker buildx bake -f packaging/container/docker-bake.hcl --push

variable "REGISTRY" { default = "localhost:5000" }

// The commit.
variable "REVISION" { default = "" }

now = timestamp()

minimal = "ghcr.io/cloudnative-pg/postgresql"
abstract = "Bloom filters that keep a feed from showing an item twice"
address = "https://bloomexp.example/bloomexp"
authors = "bloomexp authors <maintainers@bloomexp.example>"
version = "1.0.0"

group "default" { targets = ["server", "extension"] }

target "image" {
  dockerfile = "packaging/container/Dockerfile"
  platforms = ["linux/amd64", "linux/arm64"]
  attest = ["type=provenance,mode=max", "type=sbom"]
}

// PostgreSQL with the extension.
target "server" {
  inherits = ["image"]
  matrix = { pg = ["15", "16", "17", "18"], distribution = ["bookworm", "trixie", "alpine"] }
  name = "server-${pg}-${distribution}"
  target = "server"
  args = { PG_MAJOR = pg, DISTRIBUTION = distribution }
  tags = ["${REGISTRY}/postgres-bloomexp:${version}-${pg}-${distribution}"]
  labels = server_labels(pg, distribution)
  annotations = annotations(server_labels(pg, distribution))
}

// The extension alone, which servers load from a volume since version 18.
target "extension" {
  inherits = ["image"]
  matrix = { pg = ["18"], distribution = ["bookworm", "trixie"] }
  name = "extension-${pg}-${distribution}"
  target = "extension"
  output = ["type=image,oci-mediatypes=true,oci-artifact=true"]
  args = { PG_MAJOR = pg, DISTRIBUTION = distribution }
  tags = ["${REGISTRY}/bloomexp:${version}-${pg}-${distribution}"]
  labels = extension_labels(pg, distribution)
  annotations = annotations(extension_labels(pg, distribution))
}

function "labels" {
  params = [title, pg, base]
  result = {
    "org.opencontainers.image.authors" = authors
    "org.opencontainers.image.base.name" = base
    "org.opencontainers.image.created" = now
    "org.opencontainers.image.description" = "${abstract}, for PostgreSQL ${pg}"
    "org.opencontainers.image.documentation" = "${address}/blob/main/doc/README.md"
    "org.opencontainers.image.licenses" = "PostgreSQL"
    "org.opencontainers.image.revision" = REVISION
    "org.opencontainers.image.source" = address
    "org.opencontainers.image.title" = title
    "org.opencontainers.image.url" = address
    "org.opencontainers.image.vendor" = "bloomexp authors"
    "org.opencontainers.image.version" = version
  }
}

function "server_labels" {
  params = [pg, distribution]
  result = labels("PostgreSQL with bloomexp", pg,
    "docker.io/library/postgres:${pg}-${distribution}")
}

function "extension_labels" {
  params = [pg, distribution]
  result = merge(labels("bloomexp", pg, "scratch"), {
    "io.cloudnativepg.image.base.name" = "${minimal}:${pg}-minimal-${distribution}"
    "io.cloudnativepg.image.base.os" = distribution
    "io.cloudnativepg.image.base.pgmajor" = pg
    "io.cloudnativepg.image.sql.version" = version
  })
}

function "annotations" {
  params = [labels]
  result = [for name, value in labels : "index,manifest:${name}=${value}"]
}
