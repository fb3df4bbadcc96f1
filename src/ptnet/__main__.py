"""`python -m ptnet`"""

import sys

from ptnet.cli import main

sys.exit(main())
