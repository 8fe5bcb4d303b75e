"""Settings of the Scrapy project: what holds for every spider, ``scrapy shell`` and ``scrapy fetch`` included.

The components of a collection are in `tarantula.engine.settings`: they are added for spiders that collect a publication
or read streams, and only for these. Components that are named here are added to them.
"""

from __future__ import annotations

from tarantula.core.config import Config
from tarantula.core.files import restrict_new_files
from tarantula.core.output import protect_output

restrict_new_files()
protect_output()
_installation = Config()

BOT_NAME = "tarantula"
SPIDER_MODULES = ["tarantula.spiders"]
NEWSPIDER_MODULE = "tarantula.spiders"
SPIDER_LOADER_CLASS = "tarantula.spiders.loader.PublicationSpiderLoader"
COMMANDS_MODULE = "tarantula.commands"

# Hand-written spiders, the shell and `scrapy fetch` obey robots.txt; a publication has a field of its own for that.
ROBOTSTXT_OBEY = True
# No open port by default.
TELNETCONSOLE_ENABLED = False
REMOTE_CONTROL_ENABLED = False

USER_AGENT = _installation.user_agent
TWISTED_REACTOR = "twisted.internet.asyncioreactor.AsyncioSelectorReactor"
ASYNCIO_EVENT_LOOP = "uvloop.Loop"
LOG_LEVEL = "INFO"
# Colours are control characters too, which the log shows as escapes.
LOG_COLOR = False
