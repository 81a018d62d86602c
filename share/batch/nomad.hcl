# The chunks of a batch as a batch job of Nomad. Fill in: count and SPOOL/BATCH as `evctl-batch start E --engine none ... -o json`
# prints them. NOMAD_ALLOC_INDEX says which chunk an allocation is; the node's key is the one of the account that runs it.
job "evctl-batch" {
  type        = "batch"
  datacenters = ["dc1"]

  group "chunks" {
    count = 20

    restart {
      attempts = 0
      mode     = "fail"
    }

    reschedule {
      attempts  = 2
      interval  = "24h"
      unlimited = false
    }

    task "chunk" {
      driver = "raw_exec"

      config {
        command = "/usr/libexec/evctl/evctl-task"
        args    = ["/shared/evctl/BATCH"]
      }

      resources {
        cpu    = 1000
        memory = 1200
      }
    }
  }
}
