-- wrk's visits to the wiki: 200 pages by Zipf's law (exponent 0.9); 85 % views, 10 % histories, 5 % searches.
local threads = 0

function setup(thread)
  threads = threads + 1
  thread:set("seed", threads)
end

function init()
  math.randomseed(seed)
end

function request()
  local exponent = 0.1
  local page = math.floor((1 + math.random() * (201 ^ exponent - 1)) ^ (1 / exponent))
  local kind = math.random()
  if kind < 0.85 then return wrk.format("GET", "/index.php?title=Page_" .. page) end
  if kind < 0.95 then return wrk.format("GET", "/index.php?action=history&title=Page_" .. page) end
  return wrk.format("GET", "/index.php?fulltext=1&title=Special:Search&search=w" .. page)
end
