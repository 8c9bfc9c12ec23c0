// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

/// @title The vault that withdrawals are paid from.
/// @notice Pays an account what the exchange's signer authorized for it (`spot.md` 10): each authorization once, in the
/// order of its nonce, strictly before its deadline, and to the account itself, which must send the transaction.
/// @dev Knows no balances: what it holds is paid out on signatures alone. Native currency is not taken.
contract SpotVault {
    /// @notice A release was paid. The exchange settles on this event, once it is final.
    event FundsReleased(address indexed account, address indexed token, uint256 value, uint256 nonce);
    /// @notice Releases stopped or go on.
    event PauseChanged(bool isPaused);
    /// @notice Authorizations of the former signer, paid or not, hold no longer.
    event SignerChanged(address indexed former, address indexed signer);

    error Paused();
    error DeadlinePassed();
    error SignatureInvalid();
    error TransferFailed();
    error NotOwner();
    error ZeroAddress();

    /// @notice Type of the signed message.
    bytes32 public constant RELEASE_TYPE_HASH =
        keccak256("SpotReleaseFunds(address account,address token,uint256 value,uint256 nonce,uint256 deadline)");
    bytes32 private constant DOMAIN_TYPE_HASH =
        keccak256("EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)");
    /// @dev Half the order of secp256k1: a signature with a larger s has a twin with a smaller one; only that one counts.
    uint256 private constant S_MAX = 0x7FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF5D576E7357A4501DDFE92F46681B20A0;

    /// @notice Who may pause and replace the signer.
    address public immutable owner;
    bytes32 private immutable nameHash;

    /// @notice Whose signatures authorize releases.
    address public signer;
    /// @notice Whether releases are stopped.
    bool public isPaused;
    /// @notice The nonce of each account's next release, which is the count of those paid.
    mapping(address account => uint256) public nonces;

    modifier onlyOwner() {
        require(msg.sender == owner, NotOwner());
        _;
    }

    /// @param name The vault's name in the domain of signed messages.
    /// @param signer_ Whose signatures authorize releases.
    constructor(string memory name, address signer_) {
        require(signer_ != address(0), ZeroAddress());
        owner = msg.sender;
        nameHash = keccak256(bytes(name));
        signer = signer_;
        emit SignerChanged(address(0), signer_);
    }

    /// @notice Pays the caller `amount` of `token`, if the signer authorized just that with the caller's next nonce.
    /// @param deadline First second at which the authorization is dead.
    /// @param signature r, s, v: 65 bytes, v 27 or 28, low s.
    function withdraw(address token, uint256 amount, uint256 deadline, bytes calldata signature) external {
        require(!isPaused, Paused());
        require(block.timestamp < deadline, DeadlinePassed());
        uint256 nonce = nonces[msg.sender];
        bytes32 message = keccak256(abi.encode(RELEASE_TYPE_HASH, msg.sender, token, amount, nonce, deadline));
        bytes32 digest = keccak256(abi.encodePacked(hex"1901", domainSeparator(), message));
        require(recover(digest, signature) == signer, SignatureInvalid());
        // Before the token runs, so that it cannot come back with the same nonce.
        nonces[msg.sender] = nonce + 1;
        emit FundsReleased(msg.sender, token, amount, nonce);
        pay(token, msg.sender, amount);
    }

    /// @notice Stops releases, or lets them go on.
    function setPaused(bool isPaused_) external onlyOwner {
        isPaused = isPaused_;
        emit PauseChanged(isPaused_);
    }

    /// @notice Replaces the signer.
    function setSigner(address signer_) external onlyOwner {
        require(signer_ != address(0), ZeroAddress());
        emit SignerChanged(signer, signer_);
        signer = signer_;
    }

    /// @notice Hash of the EIP-712 domain. Worked out each time: a fork of the chain is another chain.
    function domainSeparator() public view returns (bytes32) {
        return keccak256(abi.encode(DOMAIN_TYPE_HASH, nameHash, keccak256("1"), block.chainid, address(this)));
    }

    /// @dev Who signed; the zero address, which is never the signer, for what is no signature.
    function recover(bytes32 digest, bytes calldata signature) private pure returns (address) {
        if (signature.length != 65) return address(0);
        bytes32 r = bytes32(signature[0:32]);
        bytes32 s = bytes32(signature[32:64]);
        uint8 v = uint8(signature[64]);
        if (uint256(s) > S_MAX || (v != 27 && v != 28)) return address(0);
        return ecrecover(digest, v, r, s);
    }

    /// @dev Some tokens answer a transfer with true, some with nothing; anything else is a failure.
    function pay(address token, address account, uint256 amount) private {
        require(token.code.length > 0, TransferFailed());
        (bool isDone, bytes memory answer) =
            token.call(abi.encodeWithSignature("transfer(address,uint256)", account, amount));
        require(isDone && (answer.length == 0 || abi.decode(answer, (bool))), TransferFailed());
    }
}
