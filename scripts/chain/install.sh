# What the scripts of the chain need from npm, into target/chain; sets modules. After scripts/exchange.sh.
find_target
install_node chain solc@0.8.37 @foundry-rs/anvil@1.7.1 viem@2.57.20
