<?php
# The wiki's settings: where things are comes from the environment, the rest is as a small site has it.
$wgSitename = 'Wiki';
$wgScriptPath = '';
$wgServer = getenv('CMLIB_URL');
$wgDBtype = 'mysql';
$wgDBserver = 'localhost:' . getenv('CMLIB_SOCKET');
$wgDBname = 'wiki';
$wgDBuser = 'wiki';
$wgDBpassword = 'wiki';
$wgMainCacheType = CACHE_MEMCACHED;
$wgParserCacheType = CACHE_MEMCACHED;
$wgMemCachedServers = [getenv('CMLIB_MEMCACHED')];
$wgSecretKey = '0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef';
$wgUpgradeKey = '0123456789abcdef';
$wgJobRunRate = 0;
$wgCacheDirectory = getenv('CMLIB_CACHE');
wfLoadSkin('Vector');
