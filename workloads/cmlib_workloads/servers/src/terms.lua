-- wrk's search requests: one to three words of 20,000 by Zipf's law (exponent 0.9), by inversion of its integral.
local threads = 0

function setup(thread)
  threads = threads + 1
  thread:set("seed", threads)
end

function init()
  math.randomseed(seed)
end

local function word()
  local exponent = 0.1
  return "w" .. math.floor((1 + math.random() * (20001 ^ exponent - 1)) ^ (1 / exponent)) - 1
end

function request()
  local words = {}
  for i = 1, math.random(1, 3) do words[i] = word() end
  return wrk.format("GET", "/search?q=" .. table.concat(words, "+"))
end
