"""Run a command; print the peak of its memory in KiB on a line of its own, then what it printed."""

import resource
import subprocess
import sys

done = subprocess.run(sys.argv[1:], stdout=subprocess.PIPE, check=False)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
sys.stdout.flush()
sys.stdout.buffer.write(done.stdout)
sys.exit(done.returncode)
